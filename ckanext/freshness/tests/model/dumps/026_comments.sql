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
COMMENT ON COLUMN public.freshness_check.package_id IS 'dataset of the resource';
COMMENT ON COLUMN public.freshness_check.url IS 'URL of the resource; all other columns are about it';
COMMENT ON COLUMN public.freshness_check.host IS 'host of the URL, normalised; empty if it names none';
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
COMMENT ON COLUMN public.freshness_check.changed_at IS 'when the last confirmed new hash was found';
COMMENT ON COLUMN public.freshness_check.failures IS 'failed checks since the last success';
COMMENT ON COLUMN public.freshness_check.failing_since IS 'end of the first of these failed checks';
COMMENT ON COLUMN public.freshness_check.undetermined IS 'why changes cannot be detected: api, blocked; empty if they can';
COMMENT ON COLUMN public.freshness_check.handed_to IS 'URL on another worker''s host, to which the URL redirects; that worker continues there';
COMMENT ON COLUMN public.freshness_check.seen_modified IS 'the resource''s own last_modified at the last run';
COMMENT ON COLUMN public.freshness_check.attempts IS 'the last five checks, newest first';
COMMENT ON COLUMN public.freshness_check.wrote IS 'values that checks wrote into the resource''s fields: last_modified, size, mimetype, hash';
COMMENT ON COLUMN public.freshness_check.tabular IS 'the last good file was a table of several lines or columns, as promised';
COMMENT ON COLUMN public.freshness_check.promised IS 'format of the resource if the last file was of another kind; empty if it fitted';
COMMENT ON COLUMN public.freshness_check.found IS 'kind of that file; empty if it fitted';
COMMENT ON COLUMN public.freshness_check.strip IS 'the last 30 checks, oldest first: w worked, f failed, u could not be made';
COMMENT ON COLUMN public.freshness_check.shape IS 'tables of the last confirmed content: name, number of rows and columns of each; an empty list if they are uncertain, empty if they were not read';
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
COMMENT ON COLUMN public.freshness_copy.package_id IS 'dataset of the resource';
COMMENT ON COLUMN public.freshness_copy.key IS 'key of the copy in the store; empty if it was removed';
COMMENT ON COLUMN public.freshness_copy.zip_key IS 'key of the copy''s ZIP in the store; empty if there is none';
COMMENT ON COLUMN public.freshness_copy.size IS 'size of the copy in bytes';
COMMENT ON COLUMN public.freshness_copy.zip_size IS 'size of the ZIP in bytes';
COMMENT ON COLUMN public.freshness_copy.sha256 IS 'SHA-256 of the copy, hexadecimal';
COMMENT ON COLUMN public.freshness_copy.mimetype IS 'media type by the server';
COMMENT ON COLUMN public.freshness_copy.filename IS 'file name for downloads of the copy';
COMMENT ON COLUMN public.freshness_copy.source_url IS 'URL from which the copy was downloaded';
COMMENT ON COLUMN public.freshness_copy.stored_at IS 'when the copy was stored';
COMMENT ON COLUMN public.freshness_copy.verified_at IS 'when the source last had the same content, as far as it says so';
COMMENT ON COLUMN public.freshness_copy.expired_at IS 'when the copy was removed from the store because the source failed for too long; empty while it is there';
INSERT INTO public.freshness_copy (resource_id, package_id, key, zip_key, size, zip_size, sha256, mimetype, filename, source_url, stored_at, verified_at, expired_at) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 're/resource/1', 're/resource/1.zip', 1000, 500, '22', 'text/csv', 'data.csv', 'http://x.org/1', '2026-01-05 01:31:00', '2026-01-05 01:31:00', '2026-01-09 00:00:00');
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_key_key UNIQUE (key);
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_copy_expired_at ON public.freshness_copy USING btree (expired_at);
CREATE INDEX ix_freshness_copy_package_id ON public.freshness_copy USING btree (package_id);
-- freshness_dataset
CREATE TABLE public.freshness_dataset (
    package_id text NOT NULL,
    status text NOT NULL,
    last_modified timestamp without time zone,
    evidence text,
    frequency_days integer,
    frequency_from text,
    due timestamp without time zone,
    overdue timestamp without time zone,
    delinquent timestamp without time zone,
    next_boundary timestamp without time zone,
    undetermined text,
    stated_date text,
    stated_since timestamp without time zone,
    judge_anew boolean DEFAULT false NOT NULL,
    field_prefix text DEFAULT ''::text NOT NULL
);
COMMENT ON TABLE public.freshness_dataset IS 'how fresh a dataset is, as its extras and its document in Solr say it';
COMMENT ON COLUMN public.freshness_dataset.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_dataset.status IS 'fresh, due, overdue, delinquent or unavailable, when the row was last written';
COMMENT ON COLUMN public.freshness_dataset.last_modified IS 'date of the newest change that counts; empty if none is known';
COMMENT ON COLUMN public.freshness_dataset.evidence IS 'why last_modified is believed: upload, url, created...';
COMMENT ON COLUMN public.freshness_dataset.frequency_days IS 'update frequency in days; 0 live, -1 never, -2 as needed; empty if none is known';
COMMENT ON COLUMN public.freshness_dataset.frequency_from IS 'where the update frequency comes from: dataset, or a default of its source, its organization or the site; empty if there is none';
COMMENT ON COLUMN public.freshness_dataset.due IS 'when the dataset becomes due; empty if its status does not depend on time';
COMMENT ON COLUMN public.freshness_dataset.overdue IS 'when the dataset becomes overdue';
COMMENT ON COLUMN public.freshness_dataset.delinquent IS 'when the dataset becomes delinquent';
COMMENT ON COLUMN public.freshness_dataset.next_boundary IS 'when the status next changes by itself; empty if it never does';
COMMENT ON COLUMN public.freshness_dataset.undetermined IS 'why changes of the deciding resource cannot be detected: api, adhoc, blocked';
COMMENT ON COLUMN public.freshness_dataset.stated_date IS 'value of dataset_date, which is no evidence of a change';
COMMENT ON COLUMN public.freshness_dataset.stated_since IS 'when this value of dataset_date was first seen';
COMMENT ON COLUMN public.freshness_dataset.judge_anew IS 'whether the next refresh judges the dataset again because rules or defaults changed; this causes no mail';
COMMENT ON COLUMN public.freshness_dataset.field_prefix IS 'prefix of the names of the dataset''s extras; usually empty';
INSERT INTO public.freshness_dataset (package_id, status, last_modified, evidence, frequency_days, frequency_from, due, overdue, delinquent, next_boundary, undetermined, stated_date, stated_since, judge_anew, field_prefix) VALUES ('00000000-0000-4000-8000-000000000002', 'fresh', '2026-01-05 06:00:00', 'http header', 7, 'dataset', '2026-01-12 06:00:00', '2026-01-19 06:00:00', '2026-01-26 06:00:00', '2026-01-12 06:00:00', NULL, '2025-12-31', '2026-01-01 00:00:00', false, '');
ALTER TABLE ONLY public.freshness_dataset
    ADD CONSTRAINT freshness_dataset_pkey PRIMARY KEY (package_id);
CREATE INDEX ix_freshness_dataset_judge_anew ON public.freshness_dataset USING btree (package_id) WHERE judge_anew;
CREATE INDEX ix_freshness_dataset_next_boundary ON public.freshness_dataset USING btree (next_boundary);
CREATE INDEX ix_freshness_dataset_people ON public.freshness_dataset USING btree (package_id) WHERE ((evidence = ANY (ARRAY['created'::text, 'metadata'::text, 'url'::text])) AND (NOT judge_anew));
-- freshness_evidence
CREATE TABLE public.freshness_evidence (
    package_id text NOT NULL,
    resource_id text NOT NULL,
    evidence text NOT NULL,
    happened_at timestamp without time zone NOT NULL,
    claimed_at timestamp without time zone,
    author text,
    previous_at timestamp without time zone
);
COMMENT ON TABLE public.freshness_evidence IS 'one date, and why it is believed, of a resource or of a dataset as a whole';
COMMENT ON COLUMN public.freshness_evidence.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_evidence.resource_id IS 'resource; empty text for the dataset as a whole';
COMMENT ON COLUMN public.freshness_evidence.evidence IS 'upload, url, created, harvest...';
COMMENT ON COLUMN public.freshness_evidence.happened_at IS 'the date that counts';
COMMENT ON COLUMN public.freshness_evidence.claimed_at IS 'the stated date if it is in the future, so that happened_at counts instead; otherwise empty';
COMMENT ON COLUMN public.freshness_evidence.author IS 'name of the user whose edit is the evidence, if known';
COMMENT ON COLUMN public.freshness_evidence.previous_at IS 'date of the previous review, which counts again if this one is withdrawn';
INSERT INTO public.freshness_evidence (package_id, resource_id, evidence, happened_at, claimed_at, author, previous_at) VALUES ('00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000003', 'http header', '2026-01-05 06:00:00', NULL, NULL, NULL);
INSERT INTO public.freshness_evidence (package_id, resource_id, evidence, happened_at, claimed_at, author, previous_at) VALUES ('00000000-0000-4000-8000-000000000002', '', 'review', '2026-01-03 10:00:00', NULL, 'editor', '2026-01-02 10:00:00');
ALTER TABLE ONLY public.freshness_evidence
    ADD CONSTRAINT freshness_evidence_pkey PRIMARY KEY (package_id, resource_id, evidence);
-- freshness_harvest_document
CREATE TABLE public.freshness_harvest_document (
    source_id text NOT NULL,
    url text NOT NULL,
    digest text NOT NULL,
    outline jsonb NOT NULL
);
COMMENT ON COLUMN public.freshness_harvest_document.source_id IS 'harvest source';
COMMENT ON COLUMN public.freshness_harvest_document.url IS 'URL of the document';
COMMENT ON COLUMN public.freshness_harvest_document.digest IS 'SHA-256 of the document''s bytes and of everything else that its outline depends on';
COMMENT ON COLUMN public.freshness_harvest_document.outline IS 'what the document lists, and what its records look like';
INSERT INTO public.freshness_harvest_document (source_id, url, digest, outline) VALUES ('source', 'https://fdp.example/catalog/1', '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8', '{"members": ["https://fdp.example/dataset/1"]}');
ALTER TABLE ONLY public.freshness_harvest_document
    ADD CONSTRAINT freshness_harvest_document_pkey PRIMARY KEY (source_id, url);
-- freshness_harvest_hold
CREATE TABLE public.freshness_harvest_hold (
    source_id text NOT NULL,
    job_id text NOT NULL,
    held_at timestamp without time zone NOT NULL,
    reason text NOT NULL,
    held jsonb NOT NULL,
    released_at timestamp without time zone,
    released_by text
);
COMMENT ON COLUMN public.freshness_harvest_hold.source_id IS 'harvest source';
COMMENT ON COLUMN public.freshness_harvest_hold.job_id IS 'job whose deletions are held';
COMMENT ON COLUMN public.freshness_harvest_hold.held_at IS 'when the brake stopped the deletions, in UTC';
COMMENT ON COLUMN public.freshness_harvest_hold.reason IS 'why the brake stopped the deletions, for people';
COMMENT ON COLUMN public.freshness_harvest_hold.held IS 'the held deletions: a list of {guid, url, package_id, reason}';
COMMENT ON COLUMN public.freshness_harvest_hold.released_at IS 'when the deletions were released, in UTC; empty until then';
COMMENT ON COLUMN public.freshness_harvest_hold.released_by IS 'name of the user who released the deletions';
INSERT INTO public.freshness_harvest_hold (source_id, job_id, held_at, reason, held, released_at, released_by) VALUES ('source', 'job', '2026-01-06 02:00:00', 'It would delete 9 of 10 datasets', '[{"url": "d", "guid": "catalog=c;dataset=d", "reason": "gone", "package_id": "00000000-0000-4000-8000-000000000002"}]', '2026-01-06 09:30:00', 'editor');
ALTER TABLE ONLY public.freshness_harvest_hold
    ADD CONSTRAINT freshness_harvest_hold_pkey PRIMARY KEY (source_id);
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
COMMENT ON COLUMN public.freshness_iati.resource_id IS 'only resource of the dataset';
COMMENT ON COLUMN public.freshness_iati.package_id IS 'dataset in CKAN';
COMMENT ON COLUMN public.freshness_iati.source_id IS 'harvest source that registered it';
COMMENT ON COLUMN public.freshness_iati.organisation_id IS 'the registry''s id of the reporting organisation';
COMMENT ON COLUMN public.freshness_iati.organisation_name IS 'short name of the reporting organisation';
COMMENT ON COLUMN public.freshness_iati.dataset_id IS 'the registry''s id of the dataset';
COMMENT ON COLUMN public.freshness_iati.dataset_name IS 'short name of the dataset';
COMMENT ON COLUMN public.freshness_iati.last_update_check IS 'when a cycle last checked the file';
COMMENT ON COLUMN public.freshness_iati.head_attempt IS 'the most recent HEAD; empty if there was none';
COMMENT ON COLUMN public.freshness_iati.get_attempt IS 'the most recent GET; empty if there was none';
COMMENT ON COLUMN public.freshness_iati.hash IS 'SHA-1 of the last known good file, hexadecimal';
COMMENT ON COLUMN public.freshness_iati.hash_excluding_generated_timestamp IS 'SHA-1 of that file without its generated-datetime attributes';
COMMENT ON COLUMN public.freshness_iati.downloaded IS 'when the last known good file was downloaded';
COMMENT ON COLUMN public.freshness_iati.verified_on_server IS 'when the server last confirmed that file';
COMMENT ON COLUMN public.freshness_iati.content_length IS 'Content-Length of the last known good file, in bytes';
COMMENT ON COLUMN public.freshness_iati.initial_contents IS 'first 150 characters of the last known good file';
COMMENT ON COLUMN public.freshness_iati.etag IS 'ETag of the last known good file';
COMMENT ON COLUMN public.freshness_iati.last_modified IS 'Last-Modified of the last known good file, as the server wrote it';
COMMENT ON COLUMN public.freshness_iati.source_url IS 'URL from which the last known good file was downloaded';
COMMENT ON COLUMN public.freshness_iati.content_modified IS 'when a cycle last found a new hash';
COMMENT ON COLUMN public.freshness_iati.content_modified_excluding_generated_timestamp IS 'when a cycle last found a new hash without generated-datetime attributes';
COMMENT ON COLUMN public.freshness_iati.attempts IS 'the last five attempts, newest first';
COMMENT ON COLUMN public.freshness_iati.failures IS 'failed checks since the last success';
COMMENT ON COLUMN public.freshness_iati.postponed_until IS 'a failing URL is not checked again before this moment; empty if it may be checked';
COMMENT ON COLUMN public.freshness_iati.published IS 'whether the index files and the bulk ZIPs of its source contain the dataset';
COMMENT ON COLUMN public.freshness_iati.failing_since IS 'end of the first of these failed checks';
INSERT INTO public.freshness_iati (resource_id, package_id, source_id, organisation_id, organisation_name, dataset_id, dataset_name, last_update_check, head_attempt, get_attempt, hash, hash_excluding_generated_timestamp, downloaded, verified_on_server, content_length, initial_contents, etag, last_modified, source_url, content_modified, content_modified_excluding_generated_timestamp, attempts, failures, postponed_until, published, failing_since) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'source', 'o1', 'org', 'd1', 'org-1', '2026-01-05 01:31:00', '{"status": 200}', '{"status": 404}', '33', '44', '2026-01-05 01:31:00', '2026-01-05 01:31:00', 1000, '<iati-activities', '"abc"', 'Mon, 05 Jan 2026 06:00:00 GMT', 'http://x.org/1', '2026-01-05 01:31:00', '2026-01-05 01:31:00', '[{"status": 404}]', 1, '2026-01-06 02:31:00', true, '2026-01-06 01:31:00');
ALTER TABLE ONLY public.freshness_iati
    ADD CONSTRAINT freshness_iati_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_iati_package_id ON public.freshness_iati USING btree (package_id);
CREATE INDEX ix_freshness_iati_source_id ON public.freshness_iati USING btree (source_id);
-- freshness_mail
CREATE TABLE public.freshness_mail (
    kind text NOT NULL,
    about text NOT NULL,
    address text NOT NULL,
    package_id text,
    outcome text NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    mail_id text,
    claimed_at timestamp without time zone,
    ended_at timestamp without time zone,
    error text
);
COMMENT ON TABLE public.freshness_mail IS 'what each person was told by mail';
COMMENT ON COLUMN public.freshness_mail.kind IS 'kind of mail: overdue, broken...';
COMMENT ON COLUMN public.freshness_mail.about IS 'id of the transition, resource, dataset or organization; for runs the problem and the id of the run: failed:...';
COMMENT ON COLUMN public.freshness_mail.address IS 'e-mail address; empty if there is no recipient';
COMMENT ON COLUMN public.freshness_mail.package_id IS 'dataset; empty for runs';
COMMENT ON COLUMN public.freshness_mail.outcome IS 'waiting, claimed, sent, refused, unknown, or why there is no mail: fresh again, opted out, nobody (no recipient), gone';
COMMENT ON COLUMN public.freshness_mail.tries IS 'number of times the mail was handed to the mail server';
COMMENT ON COLUMN public.freshness_mail.mail_id IS 'UUID of the last mail that contains this piece of news';
COMMENT ON COLUMN public.freshness_mail.claimed_at IS 'when the row was claimed, before its mail was handed to the mail server';
COMMENT ON COLUMN public.freshness_mail.ended_at IS 'when the outcome became known';
COMMENT ON COLUMN public.freshness_mail.error IS 'error of the last attempt; empty if it did not fail';
INSERT INTO public.freshness_mail (kind, about, address, package_id, outcome, tries, mail_id, claimed_at, ended_at, error) VALUES ('overdue', '1', 'editor@example.org', '00000000-0000-4000-8000-000000000002', 'sent', 2, 'mail', '2026-01-05 02:00:00', '2026-01-05 02:00:01', '421 try again');
INSERT INTO public.freshness_mail (kind, about, address, package_id, outcome, tries, mail_id, claimed_at, ended_at, error) VALUES ('run', 'failed:run', 'editor@example.org', NULL, 'refused', 3, 'mail', '2026-01-06 02:00:00', '2026-01-06 02:00:01', '550 no such user');
INSERT INTO public.freshness_mail (kind, about, address, package_id, outcome, tries, mail_id, claimed_at, ended_at, error) VALUES ('fallen', 'halved:run', '', NULL, 'nobody', 0, NULL, NULL, '2026-01-05 02:00:01', NULL);
INSERT INTO public.freshness_mail (kind, about, address, package_id, outcome, tries, mail_id, claimed_at, ended_at, error) VALUES ('broken', '00000000-0000-4000-8000-000000000003', 'editor@example.org', '00000000-0000-4000-8000-000000000002', 'waiting', 0, NULL, NULL, NULL, NULL);
ALTER TABLE ONLY public.freshness_mail
    ADD CONSTRAINT freshness_mail_pkey PRIMARY KEY (kind, about, address);
CREATE INDEX ix_freshness_mail_mail_id ON public.freshness_mail USING btree (mail_id);
-- freshness_mail_person
CREATE TABLE public.freshness_mail_person (
    id integer NOT NULL,
    address text NOT NULL,
    opted_out_at timestamp without time zone,
    off text[] DEFAULT '{}'::text[] NOT NULL,
    told_at jsonb DEFAULT '{}'::jsonb NOT NULL
);
COMMENT ON TABLE public.freshness_mail_person IS 'addresses that were written to, and what their owners want';
COMMENT ON COLUMN public.freshness_mail_person.id IS 'number in the links of the mails to this address';
COMMENT ON COLUMN public.freshness_mail_person.address IS 'e-mail address, in lower case';
COMMENT ON COLUMN public.freshness_mail_person.opted_out_at IS 'when the owner of the address switched off all mails; empty if some are wanted';
COMMENT ON COLUMN public.freshness_mail_person.off IS 'kinds of mails that the owner of the address switched off';
COMMENT ON COLUMN public.freshness_mail_person.told_at IS 'time of the last mail of each kind';
CREATE SEQUENCE public.freshness_mail_person_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_mail_person_id_seq OWNED BY public.freshness_mail_person.id;
ALTER TABLE ONLY public.freshness_mail_person ALTER COLUMN id SET DEFAULT nextval('public.freshness_mail_person_id_seq'::regclass);
INSERT INTO public.freshness_mail_person (id, address, opted_out_at, off, told_at) VALUES (7, 'editor@example.org', '2026-01-07 00:00:00', '{weekly}', '{"overdue": "2026-01-05T02:00:01"}');
SELECT pg_catalog.setval('public.freshness_mail_person_id_seq', 1, false);
ALTER TABLE ONLY public.freshness_mail_person
    ADD CONSTRAINT freshness_mail_person_address_key UNIQUE (address);
ALTER TABLE ONLY public.freshness_mail_person
    ADD CONSTRAINT freshness_mail_person_pkey PRIMARY KEY (id);
-- freshness_mail_start
CREATE TABLE public.freshness_mail_start (
    id integer NOT NULL,
    transition_id bigint NOT NULL,
    started_at timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_mail_start IS 'where mails begin; one row at most';
COMMENT ON COLUMN public.freshness_mail_start.id IS 'always 1';
COMMENT ON COLUMN public.freshness_mail_start.transition_id IS 'newest transition that causes no mail; later ones do';
COMMENT ON COLUMN public.freshness_mail_start.started_at IS 'runs that failed before this moment cause no mail';
CREATE SEQUENCE public.freshness_mail_start_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_mail_start_id_seq OWNED BY public.freshness_mail_start.id;
ALTER TABLE ONLY public.freshness_mail_start ALTER COLUMN id SET DEFAULT nextval('public.freshness_mail_start_id_seq'::regclass);
INSERT INTO public.freshness_mail_start (id, transition_id, started_at) VALUES (1, 1, '2026-01-01 00:00:00');
SELECT pg_catalog.setval('public.freshness_mail_start_id_seq', 1, false);
ALTER TABLE ONLY public.freshness_mail_start
    ADD CONSTRAINT freshness_mail_start_pkey PRIMARY KEY (id);
-- freshness_resource
CREATE TABLE public.freshness_resource (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    url text NOT NULL,
    hash text,
    hash_writer text,
    first_seen timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_resource IS 'what a resource was like when it was last looked at, so that a change is noticed';
COMMENT ON COLUMN public.freshness_resource.resource_id IS 'resource';
COMMENT ON COLUMN public.freshness_resource.package_id IS 'dataset of the resource';
COMMENT ON COLUMN public.freshness_resource.url IS 'URL of the resource';
COMMENT ON COLUMN public.freshness_resource.hash IS 'hash of the resource in CKAN; empty if it has none';
COMMENT ON COLUMN public.freshness_resource.hash_writer IS 'name of the user who wrote this hash; empty if unknown';
COMMENT ON COLUMN public.freshness_resource.first_seen IS 'when the resource was first seen';
INSERT INTO public.freshness_resource (resource_id, package_id, url, hash, hash_writer, first_seen) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'http://x.org/1', 'sha256:11', 'script', '2026-01-01 00:00:00');
ALTER TABLE ONLY public.freshness_resource
    ADD CONSTRAINT freshness_resource_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_resource_package_id ON public.freshness_resource USING btree (package_id);
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
COMMENT ON COLUMN public.freshness_run.ended_at IS 'when it ended; empty while the run goes on, and if it was killed';
COMMENT ON COLUMN public.freshness_run.options IS 'options of the call';
COMMENT ON COLUMN public.freshness_run.resources IS 'resources by label';
COMMENT ON COLUMN public.freshness_run.datasets IS 'datasets by label';
COMMENT ON COLUMN public.freshness_run.frequencies IS 'datasets by update frequency live, never, as needed';
COMMENT ON COLUMN public.freshness_run.hosts IS 'per host: checks (visits), errors, etag, last_modified, agreed, missed, moved, bytes, seconds';
COMMENT ON COLUMN public.freshness_run.visited IS 'number of resources that were checked';
COMMENT ON COLUMN public.freshness_run.error IS 'why the run ended early; empty if it did not';
COMMENT ON COLUMN public.freshness_run.version IS 'version of ckanext-freshness';
INSERT INTO public.freshness_run (id, kind, started_at, ended_at, options, resources, datasets, frequencies, hosts, visited, error, version) VALUES ('run', 'check', '2026-01-05 01:30:00', '2026-01-05 01:40:00', '{"policy": "hdx"}', '{"checked": 1}', '{"fresh": 1}', '{"live": 0}', '{"x.org": {"errors": 0, "visits": 1}}', 1, 'The database was lost', '0.1.0');
ALTER TABLE ONLY public.freshness_run
    ADD CONSTRAINT freshness_run_pkey PRIMARY KEY (id);
CREATE INDEX ix_freshness_run_started_at ON public.freshness_run USING btree (started_at);
-- freshness_transition
CREATE TABLE public.freshness_transition (
    id bigint NOT NULL,
    package_id text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    changed_at timestamp without time zone NOT NULL,
    evidence text,
    cause text NOT NULL,
    run_id text,
    action text,
    change text,
    resource_id text,
    resource_name text,
    author text,
    frequency_before integer,
    frequency_after integer
);
COMMENT ON TABLE public.freshness_transition IS 'each change of a status';
COMMENT ON COLUMN public.freshness_transition.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_transition.from_status IS 'status before; empty for the first one';
COMMENT ON COLUMN public.freshness_transition.to_status IS 'status after';
COMMENT ON COLUMN public.freshness_transition.changed_at IS 'when the status changed: at a boundary, or when it was written';
COMMENT ON COLUMN public.freshness_transition.evidence IS 'evidence that counted at this moment';
COMMENT ON COLUMN public.freshness_transition.cause IS 'why the status changed: edit, frequency, time, check or recompute';
COMMENT ON COLUMN public.freshness_transition.run_id IS 'run that wrote the row; empty outside runs';
COMMENT ON COLUMN public.freshness_transition.action IS 'CKAN''s action that changed the dataset; empty if the cause is no edit';
COMMENT ON COLUMN public.freshness_transition.change IS 'effect of the action on a resource: added, replaced, edited or removed';
COMMENT ON COLUMN public.freshness_transition.resource_id IS 'resource that the action changed';
COMMENT ON COLUMN public.freshness_transition.resource_name IS 'name of this resource, or its URL if it had no name';
COMMENT ON COLUMN public.freshness_transition.author IS 'name of the user who made the edit; empty if the cause is no edit';
COMMENT ON COLUMN public.freshness_transition.frequency_before IS 'update frequency before the transition, if its change is the cause';
COMMENT ON COLUMN public.freshness_transition.frequency_after IS 'update frequency after the transition, if its change is the cause';
CREATE SEQUENCE public.freshness_transition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_transition_id_seq OWNED BY public.freshness_transition.id;
ALTER TABLE ONLY public.freshness_transition ALTER COLUMN id SET DEFAULT nextval('public.freshness_transition_id_seq'::regclass);
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id, action, change, resource_id, resource_name, author, frequency_before, frequency_after) VALUES (1, '00000000-0000-4000-8000-000000000002', 'due', 'fresh', '2026-01-05 06:00:00', 'http header', 'check', 'run', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id, action, change, resource_id, resource_name, author, frequency_before, frequency_after) VALUES (2, 'other', NULL, 'due', '2026-01-05 07:00:00', 'url', 'frequency', NULL, 'resource_update', 'replaced', 'another', 'data.csv', 'editor', 30, 7);
SELECT pg_catalog.setval('public.freshness_transition_id_seq', 2, true);
ALTER TABLE ONLY public.freshness_transition
    ADD CONSTRAINT freshness_transition_pkey PRIMARY KEY (id);
CREATE INDEX ix_freshness_transition_changed_at ON public.freshness_transition USING btree (changed_at);
CREATE INDEX ix_freshness_transition_package_id ON public.freshness_transition USING btree (package_id);
-- freshness_unindexed
CREATE TABLE public.freshness_unindexed (
    package_id text NOT NULL,
    since timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_unindexed IS 'datasets whose documents in Solr are older than their extras';
COMMENT ON COLUMN public.freshness_unindexed.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_unindexed.since IS 'when a run wrote the extras, before it sent the document to Solr';
INSERT INTO public.freshness_unindexed (package_id, since) VALUES ('00000000-0000-4000-8000-000000000002', '2026-01-05 06:00:01');
ALTER TABLE ONLY public.freshness_unindexed
    ADD CONSTRAINT freshness_unindexed_pkey PRIMARY KEY (package_id);
-- freshness_uninstall
CREATE TABLE public.freshness_uninstall (
    began_at timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_uninstall IS 'while it has a row, no extra and no field of a resource is written';
COMMENT ON COLUMN public.freshness_uninstall.began_at IS 'when ckan freshness-uninstall was first called; there is no row before, and none after --undo';
ALTER TABLE ONLY public.freshness_uninstall
    ADD CONSTRAINT freshness_uninstall_pkey PRIMARY KEY (began_at);
