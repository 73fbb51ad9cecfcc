-- freshness_check
CREATE TABLE public.freshness_check (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    url text NOT NULL,
    host text NOT NULL,
    first_seen timestamp without time zone NOT NULL,
    etag text,
    last_modified text,
    hash text,
    earlier text[] DEFAULT '{}'::text[] NOT NULL,
    outdated boolean DEFAULT false NOT NULL,
    unconfirmed boolean DEFAULT false NOT NULL,
    hashed_at timestamp without time zone,
    visited_at timestamp without time zone,
    tried_at timestamp without time zone,
    succeeded_at timestamp without time zone,
    changed_at timestamp without time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp without time zone,
    undetermined text,
    handed_to text,
    seen_modified timestamp without time zone,
    attempts jsonb DEFAULT '[]'::jsonb NOT NULL,
    wrote jsonb DEFAULT '{}'::jsonb NOT NULL,
    tabular boolean DEFAULT false NOT NULL,
    promised text,
    found text,
    strip text DEFAULT ''::text NOT NULL,
    shape jsonb,
    seen_changes double precision DEFAULT '0'::double precision NOT NULL,
    watched_days double precision DEFAULT '0'::double precision NOT NULL,
    change_seen_at timestamp without time zone,
    together double precision DEFAULT '0.5'::double precision NOT NULL,
    dates_right integer DEFAULT 0 NOT NULL,
    dates_wrong integer DEFAULT 0 NOT NULL
);
COMMENT ON TABLE public.freshness_check IS 'what is known of each resource''s URL';
COMMENT ON COLUMN public.freshness_check.resource_id IS 'resource';
COMMENT ON COLUMN public.freshness_check.package_id IS 'its dataset';
COMMENT ON COLUMN public.freshness_check.url IS 'its URL, which all the rest is about';
COMMENT ON COLUMN public.freshness_check.host IS 'host of that URL, normalised; empty if it names none';
COMMENT ON COLUMN public.freshness_check.first_seen IS 'start of the first run that knew the resource';
COMMENT ON COLUMN public.freshness_check.etag IS 'ETag to be sent back; empty if the server gave none';
COMMENT ON COLUMN public.freshness_check.last_modified IS 'Last-Modified to be sent back, as the server wrote it';
COMMENT ON COLUMN public.freshness_check.hash IS 'hash of the last confirmed content, after its detector''s name: sha256:...';
COMMENT ON COLUMN public.freshness_check.earlier IS 'hashes of earlier content, newest first';
COMMENT ON COLUMN public.freshness_check.outdated IS 'the hash is older than ETag and Last-Modified';
COMMENT ON COLUMN public.freshness_check.unconfirmed IS 'a new hash could not be confirmed: the next run checks again';
COMMENT ON COLUMN public.freshness_check.hashed_at IS 'when the file was last read and hashed';
COMMENT ON COLUMN public.freshness_check.visited_at IS 'start of the run of the last check, from which intervals count';
COMMENT ON COLUMN public.freshness_check.tried_at IS 'end of the last check';
COMMENT ON COLUMN public.freshness_check.succeeded_at IS 'end of the last check that found the resource';
COMMENT ON COLUMN public.freshness_check.changed_at IS 'when a new hash that was confirmed was last found';
COMMENT ON COLUMN public.freshness_check.failures IS 'failed checks since the last success';
COMMENT ON COLUMN public.freshness_check.failing_since IS 'end of the first of these failed checks';
COMMENT ON COLUMN public.freshness_check.undetermined IS 'why changes cannot be determined: api, blocked; empty if they can';
COMMENT ON COLUMN public.freshness_check.handed_to IS 'URL on another worker''s host, to which the URL redirects; that worker continues there';
COMMENT ON COLUMN public.freshness_check.seen_modified IS 'the resource''s own last_modified at the last run';
COMMENT ON COLUMN public.freshness_check.attempts IS 'the last five checks, newest first';
COMMENT ON COLUMN public.freshness_check.wrote IS 'values that checks wrote into the resource''s fields: last_modified, size, mimetype, hash';
COMMENT ON COLUMN public.freshness_check.tabular IS 'the last good file was a table of several lines or columns, as promised';
COMMENT ON COLUMN public.freshness_check.promised IS 'format of the resource if the last file was of another kind; empty if it fitted';
COMMENT ON COLUMN public.freshness_check.found IS 'kind of that file; empty if it fitted';
COMMENT ON COLUMN public.freshness_check.strip IS 'the last 30 checks, oldest first: w worked, f failed, u could not be made';
COMMENT ON COLUMN public.freshness_check.shape IS 'of the bytes as last confirmed: name, number of rows and columns of each table; an empty list if they are uncertain, empty if they were not read';
COMMENT ON COLUMN public.freshness_check.seen_changes IS 'number of changes that checks found; old ones fade';
COMMENT ON COLUMN public.freshness_check.watched_days IS 'days between the checks that found them; old ones fade';
COMMENT ON COLUMN public.freshness_check.change_seen_at IS 'start of the run that last found a change';
COMMENT ON COLUMN public.freshness_check.together IS 'how often the file changed when others of its dataset had, from 0 to 1';
COMMENT ON COLUMN public.freshness_check.dates_right IS 'checks in which the stated date was right';
COMMENT ON COLUMN public.freshness_check.dates_wrong IS 'checks in which the stated date was wrong';
INSERT INTO public.freshness_check (resource_id, package_id, url, host, first_seen, etag, last_modified, hash, earlier, outdated, unconfirmed, hashed_at, visited_at, tried_at, succeeded_at, changed_at, failures, failing_since, undetermined, handed_to, seen_modified, attempts, wrote, tabular, promised, found, strip, shape, seen_changes, watched_days, change_seen_at, together, dates_right, dates_wrong) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'http://x.org/1', 'x.org', '2026-01-01 00:00:00', '"abc"', 'Mon, 05 Jan 2026 06:00:00 GMT', 'sha256:22', '{sha256:11,sha256:00}', true, true, '2026-01-05 06:00:00', '2026-01-06 01:30:00', '2026-01-06 01:31:00', '2026-01-05 01:31:00', '2026-01-05 01:31:00', 2, '2026-01-05 23:00:00', 'api', 'https://y.org/1', '2026-01-04 00:00:00', '[{"at": "2026-01-06T01:31:00Z", "reason": "proxy", "outcome": "error"}, {"at": "2026-01-06T01:01:00Z", "outcome": "cannot tell"}, {"at": "2026-01-06T00:31:00Z", "status": 404, "outcome": "error"}, {"at": "2026-01-05T23:00:00Z", "reason": "format", "outcome": "error"}, {"at": "2026-01-05T01:31:00Z", "status": 200, "outcome": "same hash"}]', '{"size": 1000, "last_modified": "2026-01-05T06:00:00"}', true, 'CSV', 'HTML', 'wffuu', '[{"name": "data", "rows": 10, "columns": ["a", "b"]}]', 2.5, 30.25, '2026-01-05 01:30:00', 0.75, 3, 1);
INSERT INTO public.freshness_check (resource_id, package_id, url, host, first_seen, etag, last_modified, hash, earlier, outdated, unconfirmed, hashed_at, visited_at, tried_at, succeeded_at, changed_at, failures, failing_since, undetermined, handed_to, seen_modified, attempts, wrote, tabular, promised, found, strip, shape, seen_changes, watched_days, change_seen_at, together, dates_right, dates_wrong) VALUES ('another', 'other', '', '', '2026-01-06 00:00:00', NULL, NULL, NULL, '{}', false, false, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, '[]', '{}', false, NULL, NULL, '', NULL, 0, 0, NULL, 0.5, 0, 0);
ALTER TABLE ONLY public.freshness_check
    ADD CONSTRAINT freshness_check_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_check_failing ON public.freshness_check USING btree (failing_since, resource_id) WHERE (failing_since IS NOT NULL);
CREATE INDEX ix_freshness_check_host ON public.freshness_check USING btree (host);
CREATE INDEX ix_freshness_check_mismatch ON public.freshness_check USING btree (host, resource_id) WHERE (found IS NOT NULL);
CREATE INDEX ix_freshness_check_package_id ON public.freshness_check USING btree (package_id);
CREATE INDEX ix_freshness_check_undetermined ON public.freshness_check USING btree (host, resource_id) WHERE (undetermined IS NOT NULL);
-- freshness_copy
CREATE TABLE public.freshness_copy (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    key text,
    zip_key text,
    size bigint NOT NULL,
    zip_size bigint,
    sha256 text NOT NULL,
    mimetype text,
    filename text NOT NULL,
    source_url text NOT NULL,
    stored_at timestamp without time zone NOT NULL,
    verified_at timestamp without time zone NOT NULL,
    expired_at timestamp without time zone
);
COMMENT ON TABLE public.freshness_copy IS 'last known good copies of resources';
COMMENT ON COLUMN public.freshness_copy.resource_id IS 'resource';
COMMENT ON COLUMN public.freshness_copy.package_id IS 'its dataset';
COMMENT ON COLUMN public.freshness_copy.key IS 'of the bytes in the store; empty if they were removed';
COMMENT ON COLUMN public.freshness_copy.zip_key IS 'of their ZIP in the store; empty if there is none';
COMMENT ON COLUMN public.freshness_copy.size IS 'of the bytes';
COMMENT ON COLUMN public.freshness_copy.zip_size IS 'of the ZIP in bytes';
COMMENT ON COLUMN public.freshness_copy.sha256 IS 'of the bytes, hexadecimal';
COMMENT ON COLUMN public.freshness_copy.mimetype IS 'media type by the server';
COMMENT ON COLUMN public.freshness_copy.filename IS 'under which they are given out';
COMMENT ON COLUMN public.freshness_copy.source_url IS 'where they came from';
COMMENT ON COLUMN public.freshness_copy.stored_at IS 'when they were stored';
COMMENT ON COLUMN public.freshness_copy.verified_at IS 'when the source last had them, as far as it says so';
COMMENT ON COLUMN public.freshness_copy.expired_at IS 'when they were removed from the store because the source failed for too long; empty while they are there';
INSERT INTO public.freshness_copy (resource_id, package_id, key, zip_key, size, zip_size, sha256, mimetype, filename, source_url, stored_at, verified_at, expired_at) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 're/resource/1', 're/resource/1.zip', 1000, 500, '22', 'text/csv', 'data.csv', 'http://x.org/1', '2026-01-05 01:31:00', '2026-01-05 01:31:00', '2026-01-09 00:00:00');
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_key_key UNIQUE (key);
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_copy_expired_at ON public.freshness_copy USING btree (expired_at);
CREATE INDEX ix_freshness_copy_package_id ON public.freshness_copy USING btree (package_id);
-- freshness_iati
CREATE TABLE public.freshness_iati (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    source_id text NOT NULL,
    organisation_id text NOT NULL,
    organisation_name text NOT NULL,
    dataset_id text NOT NULL,
    dataset_name text NOT NULL,
    last_update_check timestamp without time zone,
    head_attempt jsonb,
    get_attempt jsonb,
    hash text,
    hash_excluding_generated_timestamp text,
    downloaded timestamp without time zone,
    verified_on_server timestamp without time zone,
    content_length bigint,
    initial_contents text,
    etag text,
    last_modified text,
    source_url text,
    content_modified timestamp without time zone,
    content_modified_excluding_generated_timestamp timestamp without time zone,
    attempts jsonb DEFAULT '[]'::jsonb NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    postponed_until timestamp without time zone,
    published boolean DEFAULT false NOT NULL,
    failing_since timestamp without time zone
);
COMMENT ON TABLE public.freshness_iati IS 'what IATI''s update cycle knows of each registered dataset';
COMMENT ON COLUMN public.freshness_iati.resource_id IS 'its only resource';
COMMENT ON COLUMN public.freshness_iati.package_id IS 'its dataset in CKAN';
COMMENT ON COLUMN public.freshness_iati.source_id IS 'harvest source that registered it';
COMMENT ON COLUMN public.freshness_iati.organisation_id IS 'the registry''s id of its reporting organisation';
COMMENT ON COLUMN public.freshness_iati.organisation_name IS 'short name of that one';
COMMENT ON COLUMN public.freshness_iati.dataset_id IS 'the registry''s id of the dataset';
COMMENT ON COLUMN public.freshness_iati.dataset_name IS 'its short name';
COMMENT ON COLUMN public.freshness_iati.last_update_check IS 'when a cycle last came to it: step 1';
COMMENT ON COLUMN public.freshness_iati.head_attempt IS 'the most recent HEAD; empty if there was none';
COMMENT ON COLUMN public.freshness_iati.get_attempt IS 'the most recent GET; empty if there was none';
COMMENT ON COLUMN public.freshness_iati.hash IS 'SHA-1 of the last known good bytes, hexadecimal';
COMMENT ON COLUMN public.freshness_iati.hash_excluding_generated_timestamp IS 'likewise, without any generated-datetime attribute';
COMMENT ON COLUMN public.freshness_iati.downloaded IS 'when the last known good bytes were downloaded';
COMMENT ON COLUMN public.freshness_iati.verified_on_server IS 'when the server last confirmed them';
COMMENT ON COLUMN public.freshness_iati.content_length IS 'Content-Length that came with them, in bytes';
COMMENT ON COLUMN public.freshness_iati.initial_contents IS 'their first 150 characters';
COMMENT ON COLUMN public.freshness_iati.etag IS 'ETag that came with them';
COMMENT ON COLUMN public.freshness_iati.last_modified IS 'Last-Modified that came with them, as the server wrote it';
COMMENT ON COLUMN public.freshness_iati.source_url IS 'URL that they came from';
COMMENT ON COLUMN public.freshness_iati.content_modified IS 'when a new hash was last met';
COMMENT ON COLUMN public.freshness_iati.content_modified_excluding_generated_timestamp IS 'when a new hash without generated-datetime attributes was last met';
COMMENT ON COLUMN public.freshness_iati.attempts IS 'the last five attempts, newest first';
COMMENT ON COLUMN public.freshness_iati.failures IS 'failed checks since the last success';
COMMENT ON COLUMN public.freshness_iati.postponed_until IS 'before this moment a failing URL is not asked again; empty if it may be';
COMMENT ON COLUMN public.freshness_iati.published IS 'the index files and the bulk ZIPs of its source name it';
COMMENT ON COLUMN public.freshness_iati.failing_since IS 'end of the first of these failed checks';
INSERT INTO public.freshness_iati (resource_id, package_id, source_id, organisation_id, organisation_name, dataset_id, dataset_name, last_update_check, head_attempt, get_attempt, hash, hash_excluding_generated_timestamp, downloaded, verified_on_server, content_length, initial_contents, etag, last_modified, source_url, content_modified, content_modified_excluding_generated_timestamp, attempts, failures, postponed_until, published, failing_since) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'source', 'o1', 'org', 'd1', 'org-1', '2026-01-05 01:31:00', '{"status": 200}', '{"status": 404}', '33', '44', '2026-01-05 01:31:00', '2026-01-05 01:31:00', 1000, '<iati-activities', '"abc"', 'Mon, 05 Jan 2026 06:00:00 GMT', 'http://x.org/1', '2026-01-05 01:31:00', '2026-01-05 01:31:00', '[{"status": 404}]', 1, '2026-01-06 02:31:00', true, '2026-01-06 01:31:00');
ALTER TABLE ONLY public.freshness_iati
    ADD CONSTRAINT freshness_iati_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_iati_package_id ON public.freshness_iati USING btree (package_id);
CREATE INDEX ix_freshness_iati_source_id ON public.freshness_iati USING btree (source_id);
-- freshness_run
CREATE TABLE public.freshness_run (
    id text NOT NULL,
    kind text NOT NULL,
    started_at timestamp without time zone NOT NULL,
    ended_at timestamp without time zone,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    resources jsonb,
    datasets jsonb,
    frequencies jsonb,
    hosts jsonb,
    visited integer,
    error text,
    version text NOT NULL
);
COMMENT ON TABLE public.freshness_run IS 'runs of the checker';
COMMENT ON COLUMN public.freshness_run.id IS 'UUID; also in freshness_transition.run_id';
COMMENT ON COLUMN public.freshness_run.kind IS 'check, or another part of nightly';
COMMENT ON COLUMN public.freshness_run.started_at IS 'when it started';
COMMENT ON COLUMN public.freshness_run.ended_at IS 'when it ended; empty while it runs, or if it was killed';
COMMENT ON COLUMN public.freshness_run.options IS 'how it was called';
COMMENT ON COLUMN public.freshness_run.resources IS 'resources by label';
COMMENT ON COLUMN public.freshness_run.datasets IS 'datasets by label';
COMMENT ON COLUMN public.freshness_run.frequencies IS 'datasets by update frequency live, never, as needed';
COMMENT ON COLUMN public.freshness_run.hosts IS 'per host: checks (visits), errors, etag, last_modified, agreed, missed, moved, bytes, seconds';
COMMENT ON COLUMN public.freshness_run.visited IS 'number of resources that were checked';
COMMENT ON COLUMN public.freshness_run.error IS 'why it ended early; empty if it did not';
COMMENT ON COLUMN public.freshness_run.version IS 'version of ckanext-freshness';
INSERT INTO public.freshness_run (id, kind, started_at, ended_at, options, resources, datasets, frequencies, hosts, visited, error, version) VALUES ('run', 'check', '2026-01-05 01:30:00', '2026-01-05 01:40:00', '{"policy": "hdx"}', '{"checked": 1}', '{"fresh": 1}', '{"live": 0}', '{"x.org": {"errors": 0, "visits": 1}}', 1, 'The database was lost', '0.1.0');
ALTER TABLE ONLY public.freshness_run
    ADD CONSTRAINT freshness_run_pkey PRIMARY KEY (id);
CREATE INDEX ix_freshness_run_started_at ON public.freshness_run USING btree (started_at);
