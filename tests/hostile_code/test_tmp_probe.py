from tests.hostile_code.test_programs import *
import os, tests.hostile_code.test_programs as m


async def test_probe(client, world, services):
    names = os.environ["PROBE"].split(",") if os.environ.get("PROBE") else None
    skip = os.environ.get("SKIP", "").split(",")
    out = open("/tmp/probe.txt", "a")
    for p in PROGRAMS:
        if names and p["name"] not in names:
            continue
        if any(s and p["name"].startswith(s) for s in skip):
            continue
        stalls = []
        heart = asyncio.create_task(longest_stall(stalls))
        await asyncio.sleep(0)
        with largest() as growth:
            t = time.monotonic()
            failed, text, waiting = await call(client, "run_code", code=world.filled(p["code"]))
            taken = time.monotonic() - t
        await asyncio.sleep(0.1)
        heart.cancel()
        flag = []
        if world.told(text):
            flag.append(f"TOLD {world.told(text)}")
        if taken > 4:
            flag.append("SLOW")
        if growth[0] > 100 << 20:
            flag.append("GREW")
        if max(stalls) > 1:
            flag.append("STALL")
        if len(text) > 100000:
            flag.append("LONG")
        if len(world.notes.read_text().splitlines()) != 3:
            flag.append("WROTE")
        if list(world.folder.iterdir()):
            flag.append("FILES")
        print(
            f"{p['kind'][:3]} {p['name']:30} {taken:5.2f}s +{growth[0] >> 20}MB stall {max(stalls):.2f} len {len(text)} {'FAIL' if failed else 'ok'} {waiting and 'WAITS'} {' '.join(flag)} | {text[-110:]!r}",
            file=out,
            flush=True,
        )
