-- The tables, as they were when the migrations before the first release became one baseline.

create table embedding (
  model text not null,
  hash bytea not null,
  vector vector not null,
  unused_since timestamp with time zone,
  constraint embedding_pkey primary key (model, hash)
);

create table tenant (
  id integer generated always as identity,
  name text not null,
  constraint tenant_pkey primary key (id),
  constraint tenant_name_key unique (name)
);

create table access_key (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  hash bytea not null,
  hint text not null,
  created_at timestamp with time zone default now() not null,
  used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint access_key_pkey primary key (tenant_id, id),
  constraint access_key_tenant_id_name_key unique (tenant_id, name),
  constraint access_key_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade,
  constraint access_key_hash_key unique (hash)
);

create table api_provider (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  display_name text not null,
  aliases text[] default '{}' not null,
  base_url text default '' not null,
  active boolean default true not null,
  removing boolean default false not null,
  created_at timestamp with time zone default now() not null,
  constraint api_provider_pkey primary key (tenant_id, id),
  constraint api_provider_tenant_id_owner_name_key unique nulls not distinct (tenant_id, owner, name),
  constraint api_provider_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table api_read_log (
  tenant_id integer not null,
  id bigint generated always as identity,
  at timestamp with time zone not null,
  owner text,
  client text default '' not null,
  trace_id text default '' not null,
  endpoint bigint,
  operation text default '' not null,
  provider text default '' not null,
  duration_ms double precision not null,
  error text default '' not null,
  constraint api_read_log_pkey primary key (tenant_id, id),
  constraint api_read_log_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index api_read_log_tenant_id_at_idx on api_read_log (tenant_id, at);

create table api_search_log (
  tenant_id integer not null,
  id bigint generated always as identity,
  at timestamp with time zone not null,
  owner text,
  client text default '' not null,
  trace_id text default '' not null,
  mode text not null,
  query text,
  providers text[] not null,
  hits bigint[] not null,
  duration_ms double precision not null,
  error text default '' not null,
  read_rank integer,
  constraint api_search_log_pkey primary key (tenant_id, id),
  constraint api_search_log_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index api_search_log_tenant_id_at_idx on api_search_log (tenant_id, at);

create table approval_floor (
  tenant_id integer not null,
  floor text not null,
  updated_at timestamp with time zone default now() not null,
  constraint approval_floor_pkey primary key (tenant_id),
  constraint approval_floor_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table assistant_session (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  turns jsonb default '[]' not null,
  created_at timestamp with time zone default now() not null,
  at timestamp with time zone default now() not null,
  constraint assistant_session_pkey primary key (tenant_id, id),
  constraint assistant_session_tenant_id_owner_name_key unique nulls not distinct (tenant_id, owner, name),
  constraint assistant_session_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index assistant_session_tenant_id_at_idx on assistant_session (tenant_id, at);

create table audit_head (
  tenant_id integer not null,
  id bigint not null,
  hash bytea not null,
  key bytea not null,
  seal bytea not null,
  constraint audit_head_pkey primary key (tenant_id),
  constraint audit_head_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table audit_link (
  tenant_id integer not null,
  id bigint not null,
  key bytea not null,
  previous bytea not null,
  hash bytea not null,
  kind text not null,
  at timestamp with time zone not null,
  owner text,
  trace_id text not null,
  subject bigint,
  actor text not null,
  client text not null,
  model text not null,
  thread text not null,
  connection text not null,
  dialect text not null,
  sql text not null,
  tool text not null,
  allowed boolean,
  rule text not null,
  outcome text not null,
  rows bigint,
  ms double precision,
  note text not null,
  constraint audit_link_pkey primary key (tenant_id, id),
  constraint audit_link_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index audit_link_tenant_id_kind_subject_idx on audit_link (tenant_id, kind, subject) where subject is not null;
create index audit_link_tenant_id_owner_id_idx on audit_link (tenant_id, owner, id);

create table chat_model (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  url text not null,
  model text not null,
  key bytea,
  enabled boolean default true not null,
  created_at timestamp with time zone default now() not null,
  constraint chat_model_pkey primary key (tenant_id, id),
  constraint chat_model_tenant_id_owner_name_key unique nulls not distinct (tenant_id, owner, name),
  constraint chat_model_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table chat_setting (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  settings jsonb default '{}' not null,
  updated_at timestamp with time zone default now() not null,
  constraint chat_setting_pkey primary key (tenant_id, id),
  constraint chat_setting_tenant_id_owner_key unique nulls not distinct (tenant_id, owner),
  constraint chat_setting_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table collection (
  tenant_id integer not null,
  kind text not null,
  model text not null,
  version bigint default '0' not null,
  items integer default '0' not null,
  total_length double precision default '0' not null,
  constraint collection_pkey primary key (tenant_id, kind),
  constraint collection_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table connection (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  dialect text not null,
  location text not null,
  account text default '' not null,
  sealed bytea not null,
  samples boolean default true not null,
  description text default '' not null,
  functions text[] default '{}' not null,
  configured boolean default false not null,
  changes bigint default '0' not null,
  state text default 'new' not null,
  problem text default '' not null,
  version text default '' not null,
  writable text[] default '{}' not null,
  tables integer default '0' not null,
  stamp text default '' not null,
  edition bigint default '0' not null,
  job bigint default '0' not null,
  created_at timestamp with time zone default now() not null,
  schema_at timestamp with time zone,
  workspace text,
  keyed boolean,
  constraint connection_pkey primary key (tenant_id, id),
  constraint connection_tenant_id_owner_name_key unique nulls not distinct (tenant_id, owner, name),
  constraint connection_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table decision (
  tenant_id integer not null,
  id bigint generated always as identity,
  at timestamp with time zone default now() not null,
  owner text,
  client text default '' not null,
  trace_id text not null,
  message_hash bytea not null,
  message text,
  intents text[] not null,
  scores double precision[] not null,
  matched integer not null,
  confidence double precision not null,
  margin double precision not null,
  unsure boolean not null,
  clarified boolean not null,
  basis text not null,
  degraded text default '' not null,
  cached boolean not null,
  clauses integer not null,
  duration_ms double precision not null,
  embedding_ms double precision not null,
  constraint decision_pkey primary key (tenant_id, id),
  constraint decision_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index decision_tenant_id_at_idx on decision (tenant_id, at);

create table discovery (
  tenant_id integer not null,
  id bigint generated always as identity,
  at timestamp with time zone default now() not null,
  owner text,
  trace_id text not null,
  source text not null,
  clauses integer not null,
  searched integer not null,
  chosen bigint[] not null,
  scores float[] not null,
  abstained boolean not null,
  degraded text default '' not null,
  duration_ms float not null,
  embedding_ms float not null,
  client text default '' not null,
  selection text default 'on' not null,
  message text,
  constraint discovery_pkey primary key (tenant_id, id),
  constraint discovery_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index discovery_tenant_id_at_idx on discovery (tenant_id, at);

create table intent_fit (
  tenant_id integer not null,
  digest bytea not null,
  model text not null,
  packed bytea not null,
  hashes bytea[] not null,
  fit_ms double precision not null,
  made_at timestamp with time zone default now() not null,
  used_at timestamp with time zone default now() not null,
  constraint intent_fit_pkey primary key (tenant_id, digest),
  constraint intent_fit_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table intent_signal (
  tenant_id integer not null,
  id bigint generated always as identity,
  at timestamp with time zone default now() not null,
  owner text,
  client text default '' not null,
  trace_id text not null,
  kind text not null,
  decided text[] not null,
  pack text not null,
  tool text default '' not null,
  constraint intent_signal_pkey primary key (tenant_id, id),
  constraint intent_signal_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index intent_signal_tenant_id_at_idx on intent_signal (tenant_id, at);

create table intent_threshold (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  intent text not null,
  value double precision not null,
  set_at timestamp with time zone default now() not null,
  constraint intent_threshold_pkey primary key (tenant_id, id),
  constraint intent_threshold_tenant_id_owner_intent_key unique nulls not distinct (tenant_id, owner, intent),
  constraint intent_threshold_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table invocation (
  tenant_id integer not null,
  id bigint generated always as identity,
  at timestamp with time zone default now() not null,
  owner text,
  client text default '' not null,
  trace_id text not null,
  selection text default 'on' not null,
  tool_id bigint,
  name text not null,
  state text not null,
  duration_ms float not null,
  rank integer,
  constraint invocation_pkey primary key (tenant_id, id),
  constraint invocation_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index invocation_tenant_id_at_idx on invocation (tenant_id, at);

create table item (
  tenant_id integer not null,
  kind text not null,
  id bigint not null,
  owner text,
  facets text[] not null,
  hash bytea not null,
  terms text[] not null,
  length real not null,
  version bigint not null,
  slots text default '' not null,
  constraint item_pkey primary key (tenant_id, kind, id),
  constraint item_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table job (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  task text not null,
  subject bigint not null,
  state text default 'waiting' not null,
  phase text default '' not null,
  done bigint default '0' not null,
  total bigint default '0' not null,
  error text default '' not null,
  hint text default '' not null,
  attempts integer default '0' not null,
  failures integer default '0' not null,
  deaths integer default '0' not null,
  cancelled boolean default false not null,
  queue_id bigint,
  created_at timestamp with time zone default now() not null,
  started_at timestamp with time zone,
  updated_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  constraint job_pkey primary key (tenant_id, id),
  constraint job_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create unique index job_fresh_key on job (tenant_id, task, subject) where state = 'waiting' and attempts = 0;
create index job_tenant_id_task_subject_idx on job (tenant_id, task, subject);

create table pack_trust (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  path text not null,
  digest text not null,
  trusted_at timestamp with time zone default now() not null,
  constraint pack_trust_pkey primary key (tenant_id, id),
  constraint pack_trust_tenant_id_owner_path_key unique nulls not distinct (tenant_id, owner, path),
  constraint pack_trust_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table posting (
  tenant_id integer not null,
  kind text not null,
  term text collate "C" not null,
  id bigint not null,
  owner text,
  frequency real not null,
  length real not null,
  constraint posting_pkey primary key (tenant_id, kind, term, id) include (owner, frequency, length),
  constraint posting_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table prompt_version (
  tenant_id integer not null,
  name text not null,
  version integer not null,
  text text,
  author text,
  created_at timestamp with time zone default now() not null,
  constraint prompt_version_pkey primary key (tenant_id, name, version),
  constraint prompt_version_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table repository (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  kind text not null,
  location text not null,
  ref text default '' not null,
  include text[] not null,
  exclude text[] not null,
  version text default '' not null,
  guide text default '' not null,
  guide_by text default 'structure' not null,
  acronyms jsonb default '{}' not null,
  documents integer default '0' not null,
  chunks integer default '0' not null,
  tokens bigint default '0' not null,
  embedded integer default '0' not null,
  skipped jsonb default '[]' not null,
  skipped_counts jsonb default '{}' not null,
  state text default 'waiting' not null,
  problem text default '' not null,
  job bigint default '0' not null,
  edition bigint default '0' not null,
  created_at timestamp with time zone default now() not null,
  indexed_at timestamp with time zone,
  constraint repository_pkey primary key (tenant_id, id),
  constraint repository_tenant_id_owner_name_key unique nulls not distinct (tenant_id, owner, name),
  constraint repository_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table rules_given (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  client text not null,
  project text not null,
  intent text not null,
  at timestamp with time zone default now() not null,
  constraint rules_given_pkey primary key (tenant_id, id),
  constraint rules_given_tenant_id_owner_client_project_intent_key unique nulls not distinct (tenant_id, owner, client, project, intent),
  constraint rules_given_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table server (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  config jsonb not null,
  sealed bytea,
  description text default '' not null,
  enabled boolean default true not null,
  state text default 'new' not null,
  error text default '' not null,
  listed_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  auto_approve boolean default false not null,
  listing bytea,
  indexed bytea,
  trusted boolean default false not null,
  constraint server_pkey primary key (tenant_id, id),
  constraint server_tenant_id_owner_name_key unique nulls not distinct (tenant_id, owner, name),
  constraint server_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table term_stat (
  tenant_id integer not null,
  kind text not null,
  term text collate "C" not null,
  documents integer not null,
  constraint term_stat_pkey primary key (tenant_id, kind, term),
  constraint term_stat_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table thread (
  tenant_id integer not null,
  id uuid not null,
  owner text,
  title text default '' not null,
  settings jsonb default '{}' not null,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  forked_from uuid,
  forked_at uuid,
  last_checkpoint uuid,
  holder integer,
  turn uuid,
  constraint thread_pkey primary key (tenant_id, id),
  constraint thread_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index thread_tenant_id_owner_updated_at_id_idx on thread (tenant_id, owner, updated_at, id);

create table workspace (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  name text not null,
  path text not null,
  format text default 'servoy' not null,
  created_at timestamp with time zone default now() not null,
  constraint workspace_pkey primary key (tenant_id, id),
  constraint workspace_tenant_id_owner_name_key unique nulls not distinct (tenant_id, owner, name),
  constraint workspace_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table api_version (
  tenant_id integer not null,
  id bigint generated always as identity,
  provider_id bigint not null,
  label text not null,
  source text not null,
  etag text default '' not null,
  modified text default '' not null,
  dialect text default '' not null,
  title text default '' not null,
  declared text default '' not null,
  servers text[] default '{}' not null,
  tags jsonb default '[]' not null,
  operations integer default '0' not null,
  digest text default '' not null,
  wanted text default '' not null,
  form text default '' not null,
  indexed text default '' not null,
  problems jsonb default '[]' not null,
  problem_count integer default '0' not null,
  counts jsonb default '{}' not null,
  state text default 'waiting' not null,
  failure text default '' not null,
  job bigint default '0' not null,
  edition bigint default '0' not null,
  removing boolean default false not null,
  created_at timestamp with time zone default now() not null,
  synced_at timestamp with time zone,
  constraint api_version_pkey primary key (tenant_id, id),
  constraint api_version_tenant_id_provider_id_fkey foreign key (tenant_id, provider_id) references api_provider (tenant_id, id) on delete cascade,
  constraint api_version_tenant_id_provider_id_label_key unique (tenant_id, provider_id, label),
  constraint api_version_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table artifact (
  tenant_id integer not null,
  thread_id uuid not null,
  id uuid not null,
  turn uuid not null,
  kind text not null,
  tool text not null,
  content text not null,
  created_at timestamp with time zone default now() not null,
  constraint artifact_pkey primary key (tenant_id, thread_id, id),
  constraint artifact_tenant_id_thread_id_fkey foreign key (tenant_id, thread_id) references thread (tenant_id, id) on delete cascade,
  constraint artifact_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table checkpoint (
  tenant_id integer not null,
  thread_id uuid not null,
  ns text not null,
  id uuid not null,
  parent_id uuid,
  state jsonb not null,
  metadata jsonb not null,
  constraint checkpoint_pkey primary key (tenant_id, thread_id, ns, id),
  constraint checkpoint_tenant_id_thread_id_fkey foreign key (tenant_id, thread_id) references thread (tenant_id, id) on delete cascade,
  constraint checkpoint_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table checkpoint_blob (
  tenant_id integer not null,
  thread_id uuid not null,
  ns text not null,
  channel text not null,
  version text not null,
  type text not null,
  data bytea not null,
  constraint checkpoint_blob_pkey primary key (tenant_id, thread_id, ns, channel, version),
  constraint checkpoint_blob_tenant_id_thread_id_fkey foreign key (tenant_id, thread_id) references thread (tenant_id, id) on delete cascade,
  constraint checkpoint_blob_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table checkpoint_write (
  tenant_id integer not null,
  thread_id uuid not null,
  ns text not null,
  checkpoint_id uuid not null,
  task_id text not null,
  idx integer not null,
  task_path text not null,
  channel text not null,
  type text not null,
  data bytea not null,
  constraint checkpoint_write_pkey primary key (tenant_id, thread_id, ns, checkpoint_id, task_id, idx),
  constraint checkpoint_write_tenant_id_thread_id_fkey foreign key (tenant_id, thread_id) references thread (tenant_id, id) on delete cascade,
  constraint checkpoint_write_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table component (
  tenant_id integer not null,
  id bigint generated always as identity,
  server_id bigint not null,
  owner text,
  kind text not null,
  key text not null,
  definition json not null,
  constraint component_pkey primary key (tenant_id, id),
  constraint component_tenant_id_server_id_kind_key_key unique (tenant_id, server_id, kind, key),
  constraint component_tenant_id_server_id_fkey foreign key (tenant_id, server_id) references server (tenant_id, id) on delete cascade,
  constraint component_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table credential (
  tenant_id integer not null,
  id bigint generated always as identity,
  server_id bigint not null,
  owner text,
  sealed bytea not null,
  updated_at timestamp with time zone default now() not null,
  constraint credential_pkey primary key (tenant_id, id),
  constraint credential_tenant_id_server_id_owner_key unique nulls not distinct (tenant_id, server_id, owner),
  constraint credential_tenant_id_server_id_fkey foreign key (tenant_id, server_id) references server (tenant_id, id) on delete cascade,
  constraint credential_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table document (
  tenant_id integer not null,
  id bigint generated always as identity,
  repository_id bigint not null,
  path text not null,
  title text not null,
  media text not null,
  blob text not null,
  format integer not null,
  tokens bigint not null,
  lines integer not null,
  chunks integer not null,
  notes text[] not null,
  outline jsonb default '{}' not null,
  sections jsonb default '[]' not null,
  layout bytea not null,
  current boolean default false not null,
  made_at timestamp with time zone default now() not null,
  constraint document_pkey primary key (tenant_id, id),
  constraint document_tenant_id_repository_id_fkey foreign key (tenant_id, repository_id) references repository (tenant_id, id) on delete cascade,
  constraint document_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index document_tenant_id_repository_id_idx on document (tenant_id, repository_id);
create unique index document_tenant_id_repository_id_path_idx on document (tenant_id, repository_id, path) where current;

create table item_vector (
  tenant_id integer not null,
  kind text not null,
  model text not null,
  id bigint not null,
  part smallint not null,
  hash bytea not null,
  vector vector not null,
  constraint item_vector_pkey primary key (tenant_id, kind, id, model, part),
  constraint item_vector_tenant_id_kind_id_fkey foreign key (tenant_id, kind, id) references item (tenant_id, kind, id) on delete cascade,
  constraint item_vector_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table schema_snapshot (
  tenant_id integer not null,
  connection_id bigint not null,
  edition bigint not null,
  digest text not null,
  document bytea not null,
  relations bytea not null,
  indexed text default '' not null,
  read_at timestamp with time zone default now() not null,
  constraint schema_snapshot_pkey primary key (tenant_id, connection_id),
  constraint schema_snapshot_tenant_id_connection_id_fkey foreign key (tenant_id, connection_id) references connection (tenant_id, id) on delete cascade,
  constraint schema_snapshot_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table solution_choice (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  folder text not null,
  workspace_id bigint not null,
  active text not null,
  at timestamp with time zone default now() not null,
  constraint solution_choice_pkey primary key (tenant_id, id),
  constraint solution_choice_tenant_id_owner_folder_workspace_id_key unique nulls not distinct (tenant_id, owner, folder, workspace_id),
  constraint solution_choice_tenant_id_workspace_id_fkey foreign key (tenant_id, workspace_id) references workspace (tenant_id, id) on delete cascade,
  constraint solution_choice_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table tool (
  tenant_id integer not null,
  id bigint generated always as identity,
  server_id bigint not null,
  owner text,
  name text not null,
  title text default '' not null,
  description text default '' not null,
  input_schema json not null,
  output_schema json,
  annotations json not null,
  enriched text not null,
  content_hash bytea not null,
  definition_hash bytea not null,
  tokens integer default '0' not null,
  line text default '' not null,
  enabled boolean default true not null,
  core boolean default false not null,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  held text default '' not null,
  pending json,
  findings jsonb default '[]' not null,
  approved_hash bytea,
  constraint tool_pkey primary key (tenant_id, id),
  constraint tool_tenant_id_server_id_name_key unique (tenant_id, server_id, name),
  constraint tool_tenant_id_server_id_fkey foreign key (tenant_id, server_id) references server (tenant_id, id) on delete cascade,
  constraint tool_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table api_document (
  tenant_id integer not null,
  version_id bigint not null,
  digest text not null,
  size integer not null,
  body bytea not null,
  read_at timestamp with time zone default now() not null,
  constraint api_document_pkey primary key (tenant_id, version_id, digest),
  constraint api_document_tenant_id_version_id_fkey foreign key (tenant_id, version_id) references api_version (tenant_id, id) on delete cascade,
  constraint api_document_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table api_operation (
  tenant_id integer not null,
  id bigint generated always as identity,
  version_id bigint not null,
  endpoint text not null,
  method text not null,
  path text not null,
  operation_id text default '' not null,
  summary text default '' not null,
  description text default '' not null,
  tags text[] default '{}' not null,
  parameters text[] default '{}' not null,
  body text default '' not null,
  tips text[] default '{}' not null,
  deprecated boolean default false not null,
  pointer text default '' not null,
  ordinal integer not null,
  digest text not null,
  wording jsonb default '{}' not null,
  current boolean default true not null,
  constraint api_operation_pkey primary key (tenant_id, id),
  constraint api_operation_tenant_id_version_id_fkey foreign key (tenant_id, version_id) references api_version (tenant_id, id) on delete cascade,
  constraint api_operation_tenant_id_version_id_method_path_key unique (tenant_id, version_id, method, path),
  constraint api_operation_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
create index api_operation_tenant_id_endpoint_idx on api_operation (tenant_id, endpoint);

create table chunk (
  tenant_id integer not null,
  document_id bigint not null,
  ordinal integer not null,
  text text not null,
  constraint chunk_pkey primary key (tenant_id, document_id, ordinal),
  constraint chunk_tenant_id_document_id_fkey foreign key (tenant_id, document_id) references document (tenant_id, id) on delete cascade,
  constraint chunk_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);

create table consent (
  tenant_id integer not null,
  id bigint generated always as identity,
  owner text,
  tool_id bigint not null,
  definition_hash bytea not null,
  created_at timestamp with time zone default now() not null,
  constraint consent_pkey primary key (tenant_id, id),
  constraint consent_tenant_id_owner_tool_id_key unique nulls not distinct (tenant_id, owner, tool_id),
  constraint consent_tenant_id_tool_id_fkey foreign key (tenant_id, tool_id) references tool (tenant_id, id) on delete cascade,
  constraint consent_tenant_id_fkey foreign key (tenant_id) references tenant (id) on delete cascade
);
