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
COMMENT ON COLUMN public.freshness_dataset.field_prefix IS 'what the names of its extras begin with; usually empty';
INSERT INTO public.freshness_dataset (package_id, status, last_modified, evidence, frequency_days, frequency_from, due, overdue, delinquent, next_boundary, undetermined, stated_date, stated_since, judge_anew, field_prefix) VALUES ('00000000-0000-4000-8000-000000000002', 'fresh', '2026-01-05 06:00:00', 'http header', 7, 'dataset', '2026-01-12 06:00:00', '2026-01-19 06:00:00', '2026-01-26 06:00:00', '2026-01-12 06:00:00', NULL, '2025-12-31', '2026-01-01 00:00:00', false, '');
ALTER TABLE ONLY public.freshness_dataset
    ADD CONSTRAINT freshness_dataset_pkey PRIMARY KEY (package_id);
CREATE INDEX ix_freshness_dataset_judge_anew ON public.freshness_dataset USING btree (package_id) WHERE judge_anew;
CREATE INDEX ix_freshness_dataset_next_boundary ON public.freshness_dataset USING btree (next_boundary);
CREATE INDEX ix_freshness_dataset_people ON public.freshness_dataset USING btree (package_id) WHERE ((evidence = ANY (ARRAY['created'::text, 'metadata'::text, 'url'::text])) AND (NOT judge_anew));
-- freshness_replaced
CREATE TABLE public.freshness_replaced (
    package_id text NOT NULL,
    key text NOT NULL,
    value text NOT NULL
);
COMMENT ON TABLE public.freshness_replaced IS 'values of a site''s own extras that ours have replaced; uninstalling restores them';
COMMENT ON COLUMN public.freshness_replaced.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_replaced.key IS 'the extra that was replaced';
COMMENT ON COLUMN public.freshness_replaced.value IS 'the site''s own value';
INSERT INTO public.freshness_replaced (package_id, key, value) VALUES ('00000000-0000-4000-8000-000000000002', 'freshness', 'very');
ALTER TABLE ONLY public.freshness_replaced
    ADD CONSTRAINT freshness_replaced_pkey PRIMARY KEY (package_id, key);
