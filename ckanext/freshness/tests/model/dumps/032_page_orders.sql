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
    dates_wrong integer DEFAULT 0 NOT NULL,
    hides_changes boolean DEFAULT false NOT NULL,
    failed_at timestamp without time zone,
    last_change_at timestamp without time zone,
    interval_days double precision,
    regularity double precision DEFAULT 0.1 NOT NULL
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
COMMENT ON COLUMN public.freshness_check.hides_changes IS 'whether ETag and Last-Modified stayed the same at the file''s last change';
COMMENT ON COLUMN public.freshness_check.failed_at IS 'end of the last of these failed checks';
COMMENT ON COLUMN public.freshness_check.last_change_at IS 'when the last change that a check saw happened, as far as known';
COMMENT ON COLUMN public.freshness_check.interval_days IS 'days between the last changes; empty if fewer than two are known';
COMMENT ON COLUMN public.freshness_check.regularity IS 'probability that the file changes at regular intervals';
INSERT INTO public.freshness_check (resource_id, package_id, url, host, first_seen, etag, last_modified, hash, earlier, outdated, unconfirmed, hashed_at, visited_at, tried_at, succeeded_at, changed_at, failures, failing_since, undetermined, handed_to, seen_modified, attempts, wrote, tabular, promised, found, strip, shape, seen_changes, watched_days, change_seen_at, together, dates_right, dates_wrong, hides_changes, failed_at, last_change_at, interval_days, regularity) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'http://x.org/1', 'x.org', '2026-01-01 00:00:00', '"abc"', 'Mon, 05 Jan 2026 06:00:00 GMT', 'sha256:22', '{sha256:11,sha256:00}', true, true, '2026-01-05 06:00:00', '2026-01-06 01:30:00', '2026-01-06 01:31:00', '2026-01-05 01:31:00', '2026-01-05 01:31:00', 2, '2026-01-05 23:00:00', 'api', 'https://y.org/1', '2026-01-04 00:00:00', '[{"at": "2026-01-06T01:31:00Z", "reason": "proxy", "outcome": "error"}, {"at": "2026-01-06T01:01:00Z", "outcome": "cannot tell"}, {"at": "2026-01-06T00:31:00Z", "status": 404, "outcome": "error"}, {"at": "2026-01-05T23:00:00Z", "reason": "format", "outcome": "error"}, {"at": "2026-01-05T01:31:00Z", "status": 200, "outcome": "same hash"}]', '{"size": 1000, "last_modified": "2026-01-05T06:00:00"}', true, 'CSV', 'HTML', 'wffuu', '[{"name": "data", "rows": 10, "columns": ["a", "b"]}]', 2.5, 30.25, '2026-01-05 01:30:00', 0.75, 3, 1, true, '2026-01-06 01:31:00', '2026-01-05 06:00:00', 7.5, 0.625);
INSERT INTO public.freshness_check (resource_id, package_id, url, host, first_seen, etag, last_modified, hash, earlier, outdated, unconfirmed, hashed_at, visited_at, tried_at, succeeded_at, changed_at, failures, failing_since, undetermined, handed_to, seen_modified, attempts, wrote, tabular, promised, found, strip, shape, seen_changes, watched_days, change_seen_at, together, dates_right, dates_wrong, hides_changes, failed_at, last_change_at, interval_days, regularity) VALUES ('another', 'other', '', '', '2026-01-06 00:00:00', NULL, NULL, NULL, '{}', false, false, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, '[]', '{}', false, NULL, NULL, '', NULL, 0, 0, NULL, 0.5, 0, 0, false, NULL, NULL, NULL, 0.1);
ALTER TABLE ONLY public.freshness_check
    ADD CONSTRAINT freshness_check_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_check_failing ON public.freshness_check USING btree (failing_since, resource_id) INCLUDE (failures, failed_at, package_id) WHERE (failing_since IS NOT NULL);
CREATE INDEX ix_freshness_check_failures ON public.freshness_check USING btree (failures, resource_id) INCLUDE (failing_since, failed_at, package_id) WHERE (failing_since IS NOT NULL);
CREATE INDEX ix_freshness_check_host ON public.freshness_check USING btree (host);
CREATE INDEX ix_freshness_check_mismatch ON public.freshness_check USING btree (host, resource_id) WHERE (found IS NOT NULL);
CREATE INDEX ix_freshness_check_package_id ON public.freshness_check USING btree (package_id);
CREATE INDEX ix_freshness_check_undetermined ON public.freshness_check USING btree (host, resource_id) WHERE (undetermined IS NOT NULL);
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
CREATE INDEX ix_freshness_dataset_undeclared ON public.freshness_dataset USING btree (last_modified DESC NULLS LAST, package_id) WHERE (frequency_days IS NULL);
CREATE INDEX ix_freshness_dataset_urgent ON public.freshness_dataset USING btree (array_position(ARRAY['delinquent'::text, 'overdue'::text, 'due'::text], status), due, package_id) WHERE (status = ANY (ARRAY['due'::text, 'overdue'::text, 'delinquent'::text]));
-- freshness_suggestion
CREATE TABLE public.freshness_suggestion (
    package_id text NOT NULL,
    declared_days integer,
    suggested_days integer NOT NULL,
    certainty double precision,
    days double precision NOT NULL,
    lowest_days double precision NOT NULL,
    highest_days double precision NOT NULL,
    at_least boolean NOT NULL,
    changes integer NOT NULL,
    basis text NOT NULL,
    changed_at timestamp without time zone[] NOT NULL,
    kept_at timestamp without time zone,
    counted_at timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_suggestion IS 'update frequencies that fit datasets better than their own, computed each night';
COMMENT ON COLUMN public.freshness_suggestion.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_suggestion.declared_days IS 'its update frequency when it was compared; empty if it had none';
COMMENT ON COLUMN public.freshness_suggestion.suggested_days IS 'the usual update frequency that fits best';
COMMENT ON COLUMN public.freshness_suggestion.certainty IS 'probability that the declared frequency does not fit; empty if none is declared';
COMMENT ON COLUMN public.freshness_suggestion.days IS 'observed average time between two updates';
COMMENT ON COLUMN public.freshness_suggestion.lowest_days IS 'lower end of the range of this average';
COMMENT ON COLUMN public.freshness_suggestion.highest_days IS 'upper end of the range';
COMMENT ON COLUMN public.freshness_suggestion.at_least IS 'each check found a change: the data may change more often';
COMMENT ON COLUMN public.freshness_suggestion.changes IS 'number of updates observed';
COMMENT ON COLUMN public.freshness_suggestion.basis IS 'what changed: files, or record (dates of the harvested record)';
COMMENT ON COLUMN public.freshness_suggestion.changed_at IS 'the moments of the updates';
COMMENT ON COLUMN public.freshness_suggestion.kept_at IS 'when an editor decided to keep the declared frequency; empty without such a decision';
COMMENT ON COLUMN public.freshness_suggestion.counted_at IS 'when it was computed';
INSERT INTO public.freshness_suggestion (package_id, declared_days, suggested_days, certainty, days, lowest_days, highest_days, at_least, changes, basis, changed_at, kept_at, counted_at) VALUES ('00000000-0000-4000-8000-000000000002', 7, 30, 0.97, 28.5, 20.25, 40.5, true, 5, 'files', '{"2025-12-05 01:31:00","2026-01-05 01:31:00"}', '2026-01-05 09:00:00', '2026-01-05 01:45:00');
ALTER TABLE ONLY public.freshness_suggestion
    ADD CONSTRAINT freshness_suggestion_pkey PRIMARY KEY (package_id);
CREATE INDEX ix_freshness_suggestion_certainty ON public.freshness_suggestion USING btree (certainty, package_id) WHERE (kept_at IS NULL);
