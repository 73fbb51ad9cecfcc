-- freshness_harvest_report
CREATE TABLE public.freshness_harvest_report (
    job_id text NOT NULL,
    source_id text NOT NULL,
    drafts integer NOT NULL,
    warnings jsonb NOT NULL,
    not_harvested jsonb NOT NULL
);
COMMENT ON COLUMN public.freshness_harvest_report.job_id IS 'harvest job';
COMMENT ON COLUMN public.freshness_harvest_report.source_id IS 'harvest source';
COMMENT ON COLUMN public.freshness_harvest_report.drafts IS 'how many records and distributions are listed and were never readable';
COMMENT ON COLUMN public.freshness_harvest_report.warnings IS 'warnings about the source that belong to no record: a list of texts';
COMMENT ON COLUMN public.freshness_harvest_report.not_harvested IS 'what the source lists and becomes no dataset: a list of {kind, count, examples}';
INSERT INTO public.freshness_harvest_report (job_id, source_id, drafts, warnings, not_harvested) VALUES ('00000000-0000-4000-8000-000000000006', '00000000-0000-4000-8000-000000000005', 2, '["https://fdp.example.org/catalog/1: its type is missing"]', '[{"kind": "dcat:DataService", "count": 3, "examples": ["https://fdp.example.org/catalog/1"]}]');
ALTER TABLE ONLY public.freshness_harvest_report
    ADD CONSTRAINT freshness_harvest_report_pkey PRIMARY KEY (job_id);
