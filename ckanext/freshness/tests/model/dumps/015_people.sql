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
    judge_anew boolean DEFAULT false NOT NULL
);
COMMENT ON TABLE public.freshness_dataset IS 'how fresh a dataset is, as its extras and its document in Solr say it';
COMMENT ON COLUMN public.freshness_dataset.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_dataset.status IS 'fresh, due, overdue, delinquent or unavailable; as of the last write';
COMMENT ON COLUMN public.freshness_dataset.last_modified IS 'newest modification that counts; empty if none is known';
COMMENT ON COLUMN public.freshness_dataset.evidence IS 'why last_modified is believed: upload, url, created...';
COMMENT ON COLUMN public.freshness_dataset.frequency_days IS 'days; 0 live, -1 never, -2 as needed; empty if none is understood';
COMMENT ON COLUMN public.freshness_dataset.frequency_from IS 'dataset, or who is assumed to speak for it: source, organization, site; empty if nobody';
COMMENT ON COLUMN public.freshness_dataset.due IS 'when it becomes due; empty where time changes nothing';
COMMENT ON COLUMN public.freshness_dataset.overdue IS 'when it becomes overdue';
COMMENT ON COLUMN public.freshness_dataset.delinquent IS 'when it becomes delinquent';
COMMENT ON COLUMN public.freshness_dataset.next_boundary IS 'when status changes by itself; empty if it never does';
COMMENT ON COLUMN public.freshness_dataset.undetermined IS 'why the deciding resource cannot be determined: api, adhoc, blocked';
COMMENT ON COLUMN public.freshness_dataset.stated_date IS 'dataset_date as the dataset has it; never counts';
COMMENT ON COLUMN public.freshness_dataset.stated_since IS 'when that dataset_date was first seen';
COMMENT ON COLUMN public.freshness_dataset.judge_anew IS 'the next refresh judges it, since rules or assumptions changed; nobody gets a mail';
INSERT INTO public.freshness_dataset (package_id, status, last_modified, evidence, frequency_days, frequency_from, due, overdue, delinquent, next_boundary, undetermined, stated_date, stated_since, judge_anew) VALUES ('00000000-0000-4000-8000-000000000002', 'fresh', '2026-01-05 06:00:00', 'http header', 7, 'dataset', '2026-01-12 06:00:00', '2026-01-19 06:00:00', '2026-01-26 06:00:00', '2026-01-12 06:00:00', NULL, '2025-12-31', '2026-01-01 00:00:00', false);
ALTER TABLE ONLY public.freshness_dataset
    ADD CONSTRAINT freshness_dataset_pkey PRIMARY KEY (package_id);
CREATE INDEX ix_freshness_dataset_judge_anew ON public.freshness_dataset USING btree (package_id) WHERE judge_anew;
CREATE INDEX ix_freshness_dataset_next_boundary ON public.freshness_dataset USING btree (next_boundary);
CREATE INDEX ix_freshness_dataset_people ON public.freshness_dataset USING btree (package_id) WHERE ((evidence = ANY (ARRAY['created'::text, 'metadata'::text, 'url'::text])) AND (NOT judge_anew));
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
COMMENT ON COLUMN public.freshness_transition.changed_at IS 'when it changed: a boundary, or the write';
COMMENT ON COLUMN public.freshness_transition.evidence IS 'the evidence that counted then';
COMMENT ON COLUMN public.freshness_transition.cause IS 'edit, frequency, time, check or recompute: why it changed';
COMMENT ON COLUMN public.freshness_transition.run_id IS 'the run that wrote it; empty outside runs';
COMMENT ON COLUMN public.freshness_transition.action IS 'CKAN''s action that changed the dataset; empty if no edit did';
COMMENT ON COLUMN public.freshness_transition.change IS 'added, replaced, edited or removed: what it did to a resource';
COMMENT ON COLUMN public.freshness_transition.resource_id IS 'that resource';
COMMENT ON COLUMN public.freshness_transition.resource_name IS 'its name, or its URL if it had none';
COMMENT ON COLUMN public.freshness_transition.author IS 'name of the user whose edit it was, if one was';
COMMENT ON COLUMN public.freshness_transition.frequency_before IS 'update frequency before, if the status changed because that did';
COMMENT ON COLUMN public.freshness_transition.frequency_after IS 'and after';
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
