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
