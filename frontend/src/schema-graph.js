// <schema-graph database="NAME"> with a <script type="application/json"> in it:
//   {"tables": [{"name", "columns": [{"name", "type"}]}],
//    "relations": [{"from", "to", "columns", "declared", "confidence"}]}
// Tables as boxes that link to their pages, laid out by dagre; relations as arrows: declared ones solid, potential ones
// dashed with their confidence (0 to 1). Drawn by attributes alone, for the page's policy allows no inline style.
import dagre from "@dagrejs/dagre";

const SVG = "http://www.w3.org/2000/svg";
const LINE = 18; // units of the drawing, which are pixels unless it is larger than its place
const HEAD = 26;
const TALLEST = 720;
const PADDING = 10;
const GAP = 24;
const LONGEST = 40; // characters of a name; the whole is in the title
const LOOP = 30;
const COLUMNS = 8; // more are counted
const WITH_COLUMNS = 40; // tables: where there are more, names alone are drawn
const SLOW = 150; // tables: where there are more, ranks are assigned the quick way
const ZOOM = 1.25;
const STEP = 60; // pixels

class SchemaGraph extends HTMLElement {
  #svg;
  #view;
  #whole;

  connectedCallback() {
    const data = this.querySelector("script[type='application/json']");
    if (this.#svg || !data) return;
    const schema = JSON.parse(data.textContent);
    this.#svg = svg("svg", {
      class: "schema", width: "100%", tabindex: 0, role: "group", "font-size": 12, fill: "currentColor",
      "aria-label": `Schema: ${schema.tables.length} tables, ${schema.relations.length} relations. ` +
        "Arrow keys move it, plus and minus zoom, 0 shows all.",
    });
    this.prepend(this.#toolbar(), this.#svg);
    this.#draw(schema);
    this.#fit();
    this.#listen();
  }

  #toolbar() {
    const bar = Object.assign(document.createElement("div"), { className: "schema-tools" });
    const button = (sign, label, act) => {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: sign });
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      return made;
    };
    bar.append(
      button("+", "Zoom in", () => this.#zoom(1 / ZOOM)),
      button("−", "Zoom out", () => this.#zoom(ZOOM)),
      button("Fit", "Fit all", () => this.#fit()),
    );
    return bar;
  }

  #draw({ tables, relations }) {
    const measure = measured(this.#svg);
    const boxes = new Map(tables.map((table) => [table.name, box(table, tables.length <= WITH_COLUMNS, measure)]));
    const known = relations.filter(({ from, to }) => boxes.has(from) && boxes.has(to));
    const graph = laidOut(boxes, known);
    this.#svg.append(svg("defs", {}, arrow()));
    for (const edge of graph.edges()) this.#svg.append(...line(graph.edge(edge)));
    for (const relation of known) if (relation.from === relation.to) this.#svg.append(...loop(relation, boxes));
    const base = `/knowledge/databases/${encodeURIComponent(this.getAttribute("database"))}/tables/`;
    for (const one of boxes.values()) this.#svg.append(drawn(one, base));
    this.#whole = extent(boxes.values(), graph);
  }

  #listen() {
    const keys = {
      ArrowLeft: () => this.#pan(-STEP, 0), ArrowRight: () => this.#pan(STEP, 0),
      ArrowUp: () => this.#pan(0, -STEP), ArrowDown: () => this.#pan(0, STEP),
      "+": () => this.#zoom(1 / ZOOM), "=": () => this.#zoom(1 / ZOOM), "-": () => this.#zoom(ZOOM), 0: () => this.#fit(),
    };
    this.#svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.#svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return; // the wheel alone scrolls the page; pinching arrives with ctrl
      event.preventDefault();
      this.#zoom(event.deltaY > 0 ? ZOOM : 1 / ZOOM, event);
    }, { passive: false });
    this.#svg.addEventListener("focusin", ({ target }) => target !== this.#svg && this.#show(target.getBBox()));
    this.#drag();
  }

  #drag() {
    let from, moved;
    this.#svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = event;
      moved = false;
    });
    this.#svg.addEventListener("pointermove", (event) => {
      if (!from || from.pointerId !== event.pointerId) return;
      const [x, y] = [from.clientX - event.clientX, from.clientY - event.clientY];
      if (!moved && Math.hypot(x, y) < 4) return; // a click's own trembling
      if (!moved) this.#svg.setPointerCapture(event.pointerId);
      moved = true;
      from = event;
      this.#pan(x, y);
    });
    for (const end of ["pointerup", "pointercancel"]) this.#svg.addEventListener(end, () => (from = undefined));
    this.#svg.addEventListener("dragstart", (event) => event.preventDefault());
    this.#svg.addEventListener("click", (event) => moved && event.preventDefault(), { capture: true });
  }

  /** Show all, as large as it fits but no larger than life. */
  #fit() {
    const { x, y, width, height } = this.#whole;
    const across = Math.max(width, this.#svg.clientWidth);
    const scale = (this.#svg.clientWidth || across) / across;
    this.#svg.setAttribute("height", Math.min(Math.ceil(height * scale), TALLEST));
    this.#look({ x: x - (across - width) / 2, y, width: across, height });
  }

  /** Move by pixels of the screen. */
  #pan(x, y) {
    const unit = this.#unit();
    this.#look({ ...this.#view, x: this.#view.x + x * unit, y: this.#view.y + y * unit });
  }

  /** Zoom about the pointer, or about the middle. */
  #zoom(factor, pointer) {
    const { x, y, width, height } = this.#view;
    const at = pointer
      ? new DOMPoint(pointer.clientX, pointer.clientY).matrixTransform(this.#svg.getScreenCTM().inverse())
      : { x: x + width / 2, y: y + height / 2 };
    const by = Math.min(Math.max(factor, 40 / width), (4 * this.#whole.width) / width);
    this.#look({ x: at.x - (at.x - x) * by, y: at.y - (at.y - y) * by, width: width * by, height: height * by });
  }

  /** Move so that a box can be seen, if it cannot. */
  #show(box) {
    const { x, y, width, height } = this.#view;
    const isSeen = box.x >= x && box.y >= y && box.x + box.width <= x + width && box.y + box.height <= y + height;
    if (isSeen) return;
    this.#look({ ...this.#view, x: box.x + box.width / 2 - width / 2, y: box.y + box.height / 2 - height / 2 });
  }

  #unit() {
    return 1 / (this.#svg.getScreenCTM()?.a || 1);
  }

  #look(view) {
    this.#view = view;
    this.#svg.setAttribute("viewBox", [view.x, view.y, view.width, view.height].map((one) => one.toFixed(1)).join(" "));
  }
}

/** A table's lines and its size. */
function box(table, withColumns, measure) {
  const columns = withColumns ? (table.columns ?? []) : [];
  const lines = columns.slice(0, COLUMNS).map(({ name, type }) => [cut(name), type ? cut(` ${type}`) : ""]);
  if (columns.length > COLUMNS) lines.push([`+ ${columns.length - COLUMNS} more`, ""]);
  const width = Math.max(measure(cut(table.name), "bold"), ...lines.map((parts) => measure(parts.join("")))) + 2 * PADDING;
  return { table, lines, width, height: HEAD + (lines.length ? lines.length * LINE + PADDING : 0) };
}

function cut(text) {
  const letters = [...text];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : text;
}

/** Give each box its place: by dagre if it has relations, else in rows below. */
function laidOut(boxes, relations) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({
    rankdir: "LR", nodesep: GAP, ranksep: 3 * GAP, ranker: boxes.size > SLOW ? "longest-path" : "network-simplex",
  });
  relations.forEach((relation, at) => {
    for (const name of [relation.from, relation.to]) graph.setNode(name, boxes.get(name));
    if (relation.from === relation.to) return; // drawn by the box's side
    graph.setEdge(relation.from, relation.to, { relation, width: 40, height: LINE, labelpos: "c" }, String(at));
  });
  if (graph.nodeCount()) dagre.layout(graph);
  placeRest([...boxes].filter(([name]) => !graph.hasNode(name)).map(([, one]) => one), graph.graph());
  return graph;
}

function placeRest(rest, { width: laid = 0, height: top = 0 }) {
  const whole = Math.max(laid > 0 ? laid : 0, Math.sqrt(rest.reduce((sum, one) => sum + one.width * one.height, 0)) * 1.8);
  let [x, y, tallest] = [0, top > 0 ? top + 2 * GAP : 0, 0];
  for (const one of rest) {
    if (x && x + one.width > whole) [x, y, tallest] = [0, y + tallest + GAP, 0];
    Object.assign(one, { x: x + one.width / 2, y: y + one.height / 2 });
    x += one.width + GAP;
    tallest = Math.max(tallest, one.height);
  }
}

function drawn({ table, lines, x, y, width, height }, base) {
  const [left, top] = [x - width / 2, y - height / 2];
  const link = svg("a", { href: base + encodeURIComponent(table.name), class: "table" });
  link.append(
    svg("title", {}, table.name),
    svg("rect", { x: left, y: top, width, height, rx: 4, fill: "Canvas", stroke: "currentColor" }),
    svg("text", { x: left + PADDING, y: top + LINE, class: "name", "font-weight": "bold" }, cut(table.name)),
  );
  if (lines.length) link.append(svg("path", { d: `M ${left} ${top + HEAD} h ${width}`, stroke: "currentColor" }));
  lines.forEach(([name, type], at) => {
    const text = svg("text", { x: left + PADDING, y: top + HEAD + (at + 1) * LINE, class: "column" }, name);
    if (type) text.append(svg("tspan", { class: "type", opacity: 0.75 }, type));
    link.append(text);
  });
  return link;
}

function line({ relation, points, x, y }) {
  return arc(relation, curve(points), x, y);
}

/** A table's relation to itself, by the right side of its box. */
function loop(relation, boxes) {
  const { x, y, width } = boxes.get(relation.from);
  const side = x + width / 2;
  const path = `M ${side} ${y - 8} C ${side + LOOP} ${y - 20}, ${side + LOOP} ${y + 20}, ${side} ${y + 8}`;
  return arc(relation, path, side + LOOP + 10, y);
}

function arc({ from, to, columns, declared, confidence }, d, x, y) {
  const shown = declared ? "declared" : `${Math.round(100 * confidence)} %`;
  const path = svg("path", {
    d, class: declared ? "relation declared" : "relation potential", fill: "none",
    stroke: "currentColor", "marker-end": "url(#schema-arrow)", ...(declared ? {} : { "stroke-dasharray": "6 4" }),
  });
  path.append(svg("title", {}, `${from} → ${to}${columns ? `: ${columns}` : ""} (${shown})`));
  if (declared) return [path];
  const label = { x, y: y + 4, class: "confidence", "text-anchor": "middle" };
  return [path, svg("text", { ...label, stroke: "Canvas", "stroke-width": 4, "paint-order": "stroke" }, shown)];
}

/** A smooth line through the points of an edge: each inner one bends it. */
function curve(points) {
  const at = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const middle = (a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const inner = points.slice(1, -1);
  const bends = inner.map((point, i) => `Q ${at(point)} ${at(i === inner.length - 1 ? points.at(-1) : middle(point, inner[i + 1]))}`);
  return [`M ${at(points[0])}`, ...(bends.length ? bends : [`L ${at(points.at(-1))}`])].join(" ");
}

function arrow() {
  const marker = svg("marker", {
    id: "schema-arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto",
  });
  marker.append(svg("path", { d: "M 0 0 L 8 4 L 0 8 z", fill: "currentColor" }));
  return marker;
}

function extent(boxes, graph) {
  const corners = [...boxes].flatMap(({ x, y, width, height }) => [
    [x - width / 2, y - height / 2], [x + width / 2 + 2 * LOOP, y + height / 2],
  ]);
  const points = graph.edges().flatMap((edge) => graph.edge(edge).points.map(({ x, y }) => [x, y]));
  let [left, top, right, bottom] = [0, 0, 1, 1];
  for (const [x, y] of [...corners, ...points]) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  return { x: left - GAP, y: top - GAP, width: right - left + 2 * GAP, height: bottom - top + 2 * GAP };
}

/** Returns what measures a text in the drawing's own font. */
function measured(parent) {
  const { fontSize, fontFamily } = getComputedStyle(parent);
  const context = document.createElement("canvas").getContext("2d");
  return (text, weight = "normal") => {
    context.font = `${weight} ${fontSize} ${fontFamily}`;
    return context.measureText(text).width;
  };
}

function svg(name, attributes, content = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(content);
  return element;
}

customElements.define("schema-graph", SchemaGraph);
