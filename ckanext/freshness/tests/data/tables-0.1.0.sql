-- The tables of a site of version 0.1.0, as pg_dump writes them. Never change them: tests upgrade them.
CREATE TABLE public.freshness_alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.freshness_change (
    id text NOT NULL,
    "position" bigint,
    package_id text NOT NULL,
    resource_id text,
    seen_at timestamp without time zone NOT NULL,
    changed_after timestamp without time zone,
    changed_before timestamp without time zone NOT NULL,
    stated_at timestamp without time zone,
    evidence text NOT NULL,
    hash_before text,
    hash_after text,
    size_before bigint,
    size_after bigint,
    media_type_before text,
    media_type_after text,
    summary jsonb
);
CREATE TABLE public.freshness_check (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    url text NOT NULL,
    host text NOT NULL,
    url_before text,
    moved_to text,
    first_seen timestamp without time zone NOT NULL,
    known jsonb DEFAULT '{}'::jsonb NOT NULL,
    hash text GENERATED ALWAYS AS ((known ->> 'hash'::text)) STORED,
    promised text GENERATED ALWAYS AS ((known ->> 'promised'::text)) STORED,
    found text GENERATED ALWAYS AS ((known ->> 'found'::text)) STORED,
    hashed_at timestamp without time zone,
    checked_at timestamp without time zone,
    tried_at timestamp without time zone,
    succeeded_at timestamp without time zone,
    changed_at timestamp without time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp without time zone,
    failed_at timestamp without time zone,
    undetermined text,
    seen_modified timestamp without time zone,
    shape jsonb,
    attempts jsonb DEFAULT '[]'::jsonb NOT NULL,
    seen_changes double precision DEFAULT '0'::double precision NOT NULL,
    watched_days double precision DEFAULT '0'::double precision NOT NULL,
    change_seen_at timestamp without time zone,
    hides_changes boolean DEFAULT false NOT NULL,
    wrote jsonb DEFAULT '{}'::jsonb NOT NULL,
    ignored jsonb
);
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
    verified_at timestamp without time zone NOT NULL
);
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
    confirmed_at timestamp without time zone,
    absent_since timestamp without time zone,
    data_stands_since timestamp without time zone,
    data_until text,
    broken_since timestamp without time zone,
    ignored jsonb
);
CREATE TABLE public.freshness_evidence (
    package_id text NOT NULL,
    resource_id text NOT NULL,
    evidence text NOT NULL,
    happened_at timestamp without time zone NOT NULL,
    claimed_at timestamp without time zone,
    author text,
    previous_at timestamp without time zone,
    previous_author text
);
CREATE TABLE public.freshness_harvest_document (
    source_id text NOT NULL,
    url text NOT NULL,
    digest text NOT NULL,
    outline jsonb NOT NULL
);
CREATE TABLE public.freshness_harvest_hold (
    source_id text NOT NULL,
    job_id text NOT NULL,
    held_at timestamp without time zone NOT NULL,
    reason text NOT NULL,
    held jsonb NOT NULL,
    released_at timestamp without time zone,
    released_by text,
    kept_at timestamp without time zone,
    kept_by text
);
CREATE TABLE public.freshness_harvest_report (
    job_id text NOT NULL,
    source_id text NOT NULL,
    unchanged integer NOT NULL,
    unchanged_warnings jsonb NOT NULL,
    warnings jsonb NOT NULL,
    not_harvested jsonb NOT NULL
);
CREATE TABLE public.freshness_history (
    day date NOT NULL,
    made_at timestamp without time zone NOT NULL,
    statuses jsonb NOT NULL,
    organizations jsonb NOT NULL
);
CREATE TABLE public.freshness_iati (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    source_id text NOT NULL,
    organisation_id text NOT NULL,
    organisation_name text NOT NULL,
    dataset_id text NOT NULL,
    dataset_name text NOT NULL,
    state jsonb DEFAULT '{}'::jsonb NOT NULL,
    failing_since timestamp without time zone,
    content_changed timestamp without time zone,
    published boolean DEFAULT false NOT NULL
);
CREATE TABLE public.freshness_mail (
    kind text NOT NULL,
    about text NOT NULL,
    address text NOT NULL,
    sent_at timestamp without time zone,
    error text
);
CREATE TABLE public.freshness_mail_person (
    id integer NOT NULL,
    address text NOT NULL,
    choice text DEFAULT 'all'::text NOT NULL,
    told_at jsonb DEFAULT '{}'::jsonb NOT NULL
);
CREATE SEQUENCE public.freshness_mail_person_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_mail_person_id_seq OWNED BY public.freshness_mail_person.id;
CREATE TABLE public.freshness_resource (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    url text NOT NULL,
    hash text,
    hash_writer text,
    url_changed_at timestamp without time zone,
    date_column jsonb
);
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
    checked integer,
    error text,
    version text NOT NULL
);
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
CREATE SEQUENCE public.freshness_transition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_transition_id_seq OWNED BY public.freshness_transition.id;
CREATE TABLE public.freshness_unindexed (
    package_id text NOT NULL,
    since timestamp without time zone NOT NULL
);
CREATE TABLE public.iati_harvester_alembic_version (
    version_num character varying(32) NOT NULL
);
ALTER TABLE ONLY public.freshness_mail_person ALTER COLUMN id SET DEFAULT nextval('public.freshness_mail_person_id_seq'::regclass);
ALTER TABLE ONLY public.freshness_transition ALTER COLUMN id SET DEFAULT nextval('public.freshness_transition_id_seq'::regclass);
INSERT INTO public.freshness_alembic_version VALUES
	('001_0_1_0');
INSERT INTO public.freshness_change VALUES
	('8be4d1a4-8926-48ee-b3ed-5d1c813538ce', NULL, '3f8594c3-35ac-4704-9b4a-a93f9701dfa7', '9045b658-d750-42cb-8980-f650557d0e28', '2026-11-01 02:00:00', '2026-10-31 02:00:00', '2026-11-01 02:00:00', NULL, 'hash', 'sha256:8e2b8c53f198bcbdf7924e88a711d530238b22dbfe9e26979e25656fdeccb40c', 'sha256:8c3b76a775141774d5005a930a5b2f983ec42d58543ece34b08dc986b606fb5f', 62, 69, 'text/csv', 'text/csv', '{"tables": [{"name": null, "rows": [7, 8]}]}'),
	('00db4369-cdeb-4fd3-867f-088d52025203', NULL, 'ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'ce77d30c-ef35-4ea1-9847-e5e3b7f86e3c', '2026-11-02 02:00:00', '2026-11-01 02:00:00', '2026-11-02 02:00:00', '2026-11-01 02:03:00', 'http header', 'sha256:2062d41197eb193df308ea42600c59a0d4489c966b4e4ba9097dd860dee2d31a', NULL, 66, NULL, 'text/csv', 'text/csv', NULL),
	('b1890dc8-592a-43fa-ae62-08c7106ba350', NULL, 'ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'ce77d30c-ef35-4ea1-9847-e5e3b7f86e3c', '2026-11-29 02:00:00', '2026-11-28 02:00:00', '2026-11-29 02:00:00', '2026-11-28 02:30:00', 'http header', NULL, NULL, 66, NULL, 'text/csv', 'text/csv', NULL),
	('cdafc334-2fb6-4ec3-8bee-5e8b4e879c7b', NULL, 'ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'fa7e50a5-f565-454c-97a9-c74cff79bea0', '2026-11-29 21:25:10', '2026-11-29 21:25:03', '2026-11-29 21:25:10', NULL, 'hash', 'sha256:daa2645f60744a8aeec4057de55c51057cd1f7509b110bce86fa86ef4cb638fc', 'sha256:70ed0afb5a0b1ef485ba51080a753b9765eb4598b559dbd080d59dc43c66f05d', 286, 525, 'text/csv', 'text/csv', '{"tables": [{"name": null, "rows": [36, 37], "added": ["district"]}]}');
INSERT INTO public.freshness_check VALUES
	('16b4d302-55c4-46e4-9be6-2d4e7656ca7f', '406041f3-4e01-4fd3-9efc-559369d7871d', 'http://127.0.0.2:44875/tables/market-prices.csv', '127.0.0.2', NULL, NULL, '2026-11-29 21:25:03.313144', '{"etag": "\"f7c848e40b945627\"", "hash": "sha256:f7c848e40b94562755cb8922baccb5a798dc114c54659bf6493211f0f5e029c6", "earlier": [], "outline": [53, 2, "week\nvalue"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:03.606827', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:09.967152', '2026-11-29 21:25:09.967152', NULL, 0, NULL, NULL, NULL, '2026-11-27 21:24:39', '[[null, 6, ["week", "value"], false]]', '[{"at": "2026-11-29T21:25:09Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 304, "outcome": "not modified", "seconds": 0.001, "received": 0}, {"at": "2026-11-29T21:25:03Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 200, "outcome": "first hash", "seconds": 0.001, "received": 53}]', 0, 0.041666666666666664, NULL, false, '{"size": 53, "mimetype": "text/csv"}', NULL),
	('588a799f-d530-4791-9554-b481a8e50d5c', '63130b8b-a1eb-40ed-af7b-dcf714caa9af', 'http://127.0.0.2:44875/tables/water-points.csv', '127.0.0.2', NULL, NULL, '2026-11-29 21:25:03.313144', '{"etag": "\"f7c848e40b945627\"", "hash": "sha256:f7c848e40b94562755cb8922baccb5a798dc114c54659bf6493211f0f5e029c6", "earlier": [], "outline": [53, 2, "week\nvalue"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:03.625449', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.005945', '2026-11-29 21:25:10.005945', NULL, 0, NULL, NULL, NULL, NULL, '[[null, 6, ["week", "value"], false]]', '[{"at": "2026-11-29T21:25:10Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 304, "outcome": "not modified", "seconds": 0.001, "received": 0}, {"at": "2026-11-29T21:25:03Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 200, "outcome": "first hash", "seconds": 0.002, "received": 53}]', 0, 0.041666666666666664, NULL, false, '{"size": 53, "mimetype": "text/csv"}', NULL),
	('5a0fab31-2437-4ae3-80c4-8e3c375de79d', '65608654-43f9-4102-8e76-0a022e30591f', 'http://127.0.0.2:44875/tables/place-names.csv', '127.0.0.2', NULL, NULL, '2026-11-29 21:25:03.313144', '{"etag": "\"f7c848e40b945627\"", "hash": "sha256:f7c848e40b94562755cb8922baccb5a798dc114c54659bf6493211f0f5e029c6", "earlier": [], "outline": [53, 2, "week\nvalue"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:03.644894', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.028128', '2026-11-29 21:25:10.028128', NULL, 0, NULL, NULL, NULL, NULL, '[[null, 6, ["week", "value"], false]]', '[{"at": "2026-11-29T21:25:10Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 304, "outcome": "not modified", "seconds": 0.001, "received": 0}, {"at": "2026-11-29T21:25:03Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 200, "outcome": "first hash", "seconds": 0.001, "received": 53}]', 0, 0.041666666666666664, NULL, false, '{"size": 53, "mimetype": "text/csv"}', NULL),
	('2b009b5b-b7cf-4638-bc62-575556090d40', '66bf60a9-90d9-47e2-b8cd-33d856cc5526', 'http://127.0.0.2:44875/tables/food-stocks.csv', '127.0.0.2', NULL, NULL, '2026-11-29 21:25:03.313144', '{"etag": "\"f7c848e40b945627\"", "hash": "sha256:f7c848e40b94562755cb8922baccb5a798dc114c54659bf6493211f0f5e029c6", "earlier": [], "outline": [53, 2, "week\nvalue"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:03.675969', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.059288', '2026-11-29 21:25:10.059288', NULL, 0, NULL, NULL, NULL, '2026-11-11 21:24:39', '[[null, 6, ["week", "value"], false]]', '[{"at": "2026-11-29T21:25:10Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 304, "outcome": "not modified", "seconds": 0.013, "received": 0}, {"at": "2026-11-29T21:25:03Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 200, "outcome": "first hash", "seconds": 0.012, "received": 53}]', 0, 0.041666666666666664, NULL, false, '{"size": 53, "mimetype": "text/csv"}', NULL),
	('709d0ffd-50a1-414c-81d5-c92924d9e42a', 'a73d8d57-f253-4bb1-89cf-833f225f77e5', 'http://127.0.0.2:44875/tables/health-posts.csv', '127.0.0.2', NULL, NULL, '2026-11-29 21:25:03.313144', '{"etag": "\"f7c848e40b945627\"", "hash": "sha256:f7c848e40b94562755cb8922baccb5a798dc114c54659bf6493211f0f5e029c6", "earlier": [], "outline": [53, 2, "week\nvalue"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:03.755727', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.147729', '2026-11-29 21:25:10.147729', NULL, 0, NULL, NULL, NULL, NULL, '[[null, 6, ["week", "value"], false]]', '[{"at": "2026-11-29T21:25:10Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 304, "outcome": "not modified", "seconds": 0.001, "received": 0}, {"at": "2026-11-29T21:25:03Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 200, "outcome": "first hash", "seconds": 0.021, "received": 53}]', 0, 0.041666666666666664, NULL, false, '{"size": 53, "mimetype": "text/csv"}', NULL),
	('fed7a045-587b-5a81-a95f-8a4044125187', '01b19b51-462c-5958-9473-ec9a4b0c7559', 'http://127.0.0.1:38487/files/nutrition-screening.json', '127.0.0.1', NULL, NULL, '2026-10-31 02:00:00', '{"hash": "sha256:3ab9459ee6981f79f2ba5dd72e99b06e714cad394ef1139a6317f465be6e0db6", "earlier": [], "outline": [409, 2, "dataset\nrows"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:09.963282', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:09.963282', '2026-11-29 21:25:09.963282', NULL, 0, NULL, NULL, NULL, NULL, '[]', '[{"at": "2026-11-29T21:25:09Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.015, "received": 409}, {"at": "2026-11-29T21:25:03Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.017, "received": 409}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.114, "received": 409}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.083, "received": 409}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.006, "received": 409}]', 0, 29.850736170185186, NULL, false, '{}', NULL),
	('9fd90315-e3f8-5184-b4b2-a6b6e90c385f', '3365d39c-0a79-5846-bfd0-71c7b415f53b', 'http://127.0.0.1:38487/files/lake-level.csv', '127.0.0.1', NULL, NULL, '2026-10-31 02:00:00', '{"hash": "sha256:d72513ee0bee87fd0b115ef5b28d93b6b30202dbf1b27dd538b61d7b3ae48a88", "earlier": [], "outline": [212, 2, ""], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:11.735239', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:11.735239', '2026-11-29 21:25:11.735239', NULL, 0, NULL, NULL, NULL, NULL, '[]', '[{"at": "2026-11-29T21:25:11Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.012, "received": 212}, {"at": "2026-11-29T21:25:04Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 212}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 212}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 212}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 212}]', 0, 29.85075067383102, NULL, false, '{}', NULL),
	('1f8e0159-6fc0-4bf5-ab07-554f59fed963', '97361d0d-5540-4d4e-937a-c6faaf7a003a', 'http://127.0.0.2:44875/tables/displacement.csv', '127.0.0.2', NULL, NULL, '2026-11-29 21:25:03.313144', '{"etag": "\"f7c848e40b945627\"", "hash": "sha256:f7c848e40b94562755cb8922baccb5a798dc114c54659bf6493211f0f5e029c6", "earlier": [], "outline": [53, 2, "week\nvalue"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:03.706419', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.066331', '2026-11-29 21:25:10.066331', NULL, 0, NULL, NULL, NULL, NULL, '[[null, 6, ["week", "value"], false]]', '[{"at": "2026-11-29T21:25:10Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 304, "outcome": "not modified", "seconds": 0.001, "received": 0}, {"at": "2026-11-29T21:25:03Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 200, "outcome": "first hash", "seconds": 0.01, "received": 53}]', 0, 0.041666666666666664, NULL, false, '{"size": 53, "mimetype": "text/csv"}', NULL),
	('6466a6e1-afe7-5efd-a1c9-f2a501bba8f5', 'b57685c9-31e4-5faf-ade5-833a7932685f', 'http://127.0.0.1:38487/files/rapid-needs-flood.zip', '127.0.0.1', NULL, NULL, '2026-10-31 02:00:00', '{"raw": "eaf520a04c2ca0b0d2005b355ab409b475be5b0f583ed4d3109fd24ca181b2f6", "hash": "members:822142673bdf60289f4fa49c36abcc09a6ae7ca120f6a7df9ad9fe3e6768dbe0", "earlier": [], "outline": [356, 0, ""], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:12.731169', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:12.731169', '2026-11-29 21:25:12.731169', NULL, 0, NULL, NULL, NULL, NULL, '[]', '[{"at": "2026-11-29T21:25:12Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 356}, {"at": "2026-11-29T21:25:05Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.026, "received": 356}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 356}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.028, "received": 356}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.047, "received": 356}]', 0, 29.85076037859954, NULL, false, '{}', NULL),
	('b88186ab-3314-4d59-8990-3dd66340a684', 'ff48cd17-40fe-46bc-87e1-aba6f0a6b468', 'http://127.0.0.2:44875/tables/school-census.csv', '127.0.0.2', NULL, NULL, '2026-11-29 21:25:03.313144', '{"etag": "\"f7c848e40b945627\"", "hash": "sha256:f7c848e40b94562755cb8922baccb5a798dc114c54659bf6493211f0f5e029c6", "earlier": [], "outline": [53, 2, "week\nvalue"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:04.061539', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.437948', '2026-11-29 21:25:10.437948', NULL, 0, NULL, NULL, NULL, NULL, '[[null, 6, ["week", "value"], false]]', '[{"at": "2026-11-29T21:25:10Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 304, "outcome": "not modified", "seconds": 0.001, "received": 0}, {"at": "2026-11-29T21:25:04Z", "etag": "\"f7c848e40b945627\"", "method": "GET", "status": 200, "outcome": "first hash", "seconds": 0.001, "received": 53}]', 0, 0.041666666666666664, NULL, false, '{"size": 53, "mimetype": "text/csv"}', NULL),
	('69fb4705-43e8-5335-b24b-6e2c19c920eb', '122b2af4-771f-5fc8-8ac9-c30dbd24a825', 'http://127.0.0.1:38487/files/measles-monthly.csv', '127.0.0.1', NULL, NULL, '2026-10-31 02:00:00', '{"hash": "sha256:2f39ecb28e2e3767c2c8bfe8fcde1d039e38e9aa1363a586b553a049a897538c", "earlier": [], "outline": [215, 2, ""], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:09.966', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:09.966', '2026-11-29 21:25:09.966', NULL, 0, NULL, NULL, NULL, NULL, '[]', '[{"at": "2026-11-29T21:25:09Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 215}, {"at": "2026-11-29T21:25:03Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 215}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.055, "received": 215}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.056, "received": 215}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.028, "received": 215}]', 0, 29.850736185185188, NULL, false, '{}', NULL),
	('51955768-507b-49d9-b379-685387ca5fdf', '128730ef-6cc5-4af8-bc71-38240cfc1e91', 'http://127.0.0.2:44875/api/prices.json', '127.0.0.2', NULL, NULL, '2026-10-31 02:00:00', '{"hash": "sha256:1e124fcf3dc78e56417641775f22fc8af692b1d7e19c337ee664a4c281ac7c40", "earlier": [], "outline": [31, 0, "download\nrice"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:10.107128', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.107128', '2026-11-29 21:25:10.107128', NULL, 0, NULL, NULL, 'api', NULL, '[]', '[{"at": "2026-11-29T21:25:10Z", "method": "GET", "status": 200, "outcome": "api", "seconds": 0.002, "received": 31}, {"at": "2026-11-29T21:25:03Z", "method": "GET", "status": 200, "outcome": "api", "seconds": 0.006, "received": 31}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "api", "seconds": 0.036, "received": 31}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "api", "seconds": 0.068, "received": 31}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "api", "seconds": 0.049, "received": 31}]', 0, 0, NULL, false, '{"size": 31, "mimetype": "application/json"}', NULL),
	('17d8fbc4-6da9-5eb6-92ec-62c301dfe3cc', '2a31c083-0c79-5475-b01e-b837b1134b79', 'http://127.0.0.1:38487/files/forest-cover-loss.csv', '127.0.0.1', NULL, NULL, '2026-10-31 02:00:00', '{"hash": "sha256:a3bd86f829c54daafdcd0f7893340b8d99379bb79091134d02ee97516307f6ee", "earlier": [], "outline": [216, 2, ""], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:11.632251', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:11.632251', '2026-11-29 21:25:11.632251', NULL, 0, NULL, NULL, NULL, NULL, '[]', '[{"at": "2026-11-29T21:25:11Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 216}, {"at": "2026-11-29T21:25:04Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 216}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 216}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.016, "received": 216}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.001, "received": 216}]', 0, 29.850749526238427, NULL, false, '{}', NULL),
	('56ca177e-4a7e-4b93-8e69-05b1643a7c45', 'a6f4e9f3-16f1-44df-98af-3b81cfdf375c', 'http://127.0.0.2:44875/clinics.csv', '127.0.0.2', NULL, NULL, '2026-10-31 02:00:00', '{"etag": "\"b86ac9df9416c477\"", "hash": "sha256:b86ac9df9416c4775c665debc02bb2f090d2b67b91fd9dc353350aa23c7b1246", "earlier": ["sha256:13930aabb7c4f05fdbec5feec580a838f6f3e1ebbafb130ead6b3fd4cb6aa682", "sha256:641fd2f540fc47a6dfc4e13984bdead79b48790de82cda64682efb4e854d3ae0", "sha256:a2b2121751c3f848a6dc6f081e0ab2d4c2f33fda2a350c9807d5e602d74924ba", "sha256:be2476bb23a15853055d4feba52352ad3a1ed6b126222ac7a0a6fa5b9abc3d8b", "sha256:9de25e7192d31c3523d1b7ad1b904e183b44069de2e0aa6a283bb8e50d347670", "sha256:e0bc5ed8e5948df649e47af8a4ea1f923082d9703d3c7e5360cfc958e0c85275", "sha256:b7469227b795a102e0aaf856b33ab535a7a7368954ed4021d0a8d0733b5097ab", "sha256:971b6075d96d6accd814e686782a8805702c95389e991fa1cff8c654f27d8c1e", "sha256:715a157a52c96ce4bfd40e7f6fedd1156fa575a758caf697d77ea257a908d564", "sha256:6e8a06cc3280c6b012ec3b3458633ae4c75f57530b7c530ffdc7a7469a114e7a", "sha256:9f32236e3fce12344a46d530801650264f7648a71104e942fc91393dbdb279c7", "sha256:f2376c359acac2d80ee85bea2754285b79f013ec261db64232f17927d01498fa", "sha256:2e0e21196d43fef09a3a0e731ac7893750b251172916a4d020d88bc02a3114bb", "sha256:de979d0231edb2594a5d01156a24d0905af1188f721b5b24345616d2467c9a38", "sha256:86148cb3bb36dc97ea3c6f9cff4460c8ec4c66c0f3ba50fe42a8cc7a88f904fb", "sha256:46c3cb2cc9827e3b0036e5a2876482b30c60e82da706611c69555b90648840c5", "sha256:86c35c9fd64e5e059737dd82dbfdddbcbb3269679c2ed47809a55f366334b421", "sha256:4cafbc61f4d33d6ff1b4a0cb7c1a30c0eec1b43777acd35f1195eba76e7923aa", "sha256:7fb84db19d55894856ef6447c58e63295105b8da3034c98e09afb5e020783a25", "sha256:0d779e1516af8400c0022a30978f1f2d936acb227c0c6af42d10e2e060d5cb3a"], "outline": [218, 2, "week\nclinics"], "outdated": false, "dates_lie": false, "last_modified": "Thu, 19 Nov 2026 02:21:00 GMT"}', DEFAULT, DEFAULT, DEFAULT, '2026-11-20 02:00:00', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.127076', '2026-11-20 02:00:00', '2026-11-20 02:00:00', 11, '2026-11-21 02:00:00', '2026-11-29 21:25:10.127076', NULL, NULL, '[[null, 27, ["week", "clinics"], false]]', '[{"at": "2026-11-29T21:25:10Z", "words": "answered 404 (Not Found)", "method": "GET", "status": 404, "outcome": "error", "seconds": 0.001, "received": 28}, {"at": "2026-11-29T21:25:03Z", "words": "answered 404 (Not Found)", "method": "GET", "status": 404, "outcome": "error", "seconds": 0.026, "received": 28}, {"at": "2026-11-29T02:00:00Z", "words": "answered 404 (Not Found)", "method": "GET", "status": 404, "outcome": "error", "seconds": 0.069, "received": 28}, {"at": "2026-11-28T02:00:00Z", "words": "answered 404 (Not Found)", "method": "GET", "status": 404, "outcome": "error", "seconds": 0.039, "received": 28}, {"at": "2026-11-27T02:00:00Z", "words": "answered 404 (Not Found)", "method": "GET", "status": 404, "outcome": "error", "seconds": 0.007, "received": 28}]', 20, 10, '2026-11-20 02:00:00', false, '{"size": 218, "mimetype": "text/csv", "last_modified": "2026-11-20T02:00:00"}', NULL),
	('9045b658-d750-42cb-8980-f650557d0e28', '3f8594c3-35ac-4704-9b4a-a93f9701dfa7', 'http://127.0.0.2:44875/roads.csv', '127.0.0.2', NULL, NULL, '2026-10-31 02:00:00', '{"hash": "sha256:f33a6641c0b9b92f05c7570374ce02b4ab8080510abc3e7eb9cfd4daad0b137c", "earlier": ["sha256:f7b27be063d7c70b8732afa65ca72fa2442b18a3db2ab31ffd7ac1c2fd82b0cb", "sha256:918ac42266de1d45b5389ffb11610db61a474308ce87f88bbe2135f25bfa2157", "sha256:dadf814c5b297fcbdf298af8bd5eb4e3efec494c33904cac87b067eea1cc8e40", "sha256:e6454c596592b5b3b17cfb018e63655dac891794c9a8850f2f3a010c326e6141", "sha256:2f03cf2ef4f9d8e790b835171af8024af83de01a95612b8e88073a37fa561ad8", "sha256:b170276ecfea49719fd6dc31929d6bce8ddb6260dcac3b1a2dbede54b8619094", "sha256:73b144663560506c2abee5bb6983e6a98e39d8f14f10d2264d5ccb388b9639a2", "sha256:f229a4b9e2893deb2e969639602918c5b17190b47e591f23a913fd39aed5c7b0", "sha256:a56802195505d2f961ed8880a1cbdef243cdf44dd1edf2b5768b18b9c9130edc", "sha256:d34143fdb3e32fc3f283c1cdc4a2a0fd1bb144781f9db9684f952fb2561b4858", "sha256:149a7435fe978abaead9debdc0d3a7732f61b0fd4733d332121c07485fdc222b", "sha256:ee4b06aee66c6d44272e50226722da83a9c1eb9d11d2d421ae6ba01ff7513298", "sha256:0ed06b073221b5c5fc9b1c1acf4a964b17126c98572b45bd1488365bb6ce53dd", "sha256:adcca1f52e46d3c03344381b763d6772f70cb0a98e9ee27af012b77a1a97f63f", "sha256:b819ec27ebd2d64dc40627be632d6c7d7284e9f7cdc3838b9d009b8e27daf674", "sha256:b27c803d184a148c1a45f14035ffd82a93bc946e11929e1c670643b5f1499d29", "sha256:15194d4ffc6cf5de44e202f59276bdf137e95ca9d71c7c633ece905122ce43d9", "sha256:73faf8031ed1620023208047ecaf53a01770c65be2eec27f1d56270f354b345f", "sha256:bfab54890716c915f5121b228c995387a2a497c2dc6ce19dda9811bacacef122", "sha256:165dd14b2230103bb99f8348925cb4a7722ed082547d40311695c7fd9a12605f"], "outline": [289, 2, "week\nsections"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:03.603999', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:09.964116', '2026-11-29 21:25:03.603999', '2026-11-29 02:00:00', 1, '2026-11-29 21:25:09.964116', '2026-11-29 21:25:09.964116', NULL, NULL, '[[null, 36, ["week", "sections"], false]]', '[{"at": "2026-11-29T21:25:09Z", "words": "answered 404 (Not Found)", "method": "GET", "status": 404, "outcome": "error", "seconds": 0.015, "received": 28}, {"at": "2026-11-29T21:25:03Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.009, "received": 289}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "hash", "seconds": 0.032, "received": 289}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "hash", "seconds": 0.103, "received": 281}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "hash", "seconds": 0.045, "received": 273}]', 29, 15.309069490729167, '2026-11-29 02:00:00', false, '{"size": 289, "mimetype": "text/csv", "last_modified": "2026-11-29T02:00:00"}', NULL),
	('fa7e50a5-f565-454c-97a9-c74cff79bea0', 'ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'http://127.0.0.2:44875/stocks.csv', '127.0.0.2', NULL, NULL, '2026-10-31 02:00:00', '{"hash": "sha256:70ed0afb5a0b1ef485ba51080a753b9765eb4598b559dbd080d59dc43c66f05d", "earlier": ["sha256:daa2645f60744a8aeec4057de55c51057cd1f7509b110bce86fa86ef4cb638fc", "sha256:b951c54829f5893d021243f3416e734b409e881bef9a966ffe0d41d8afb4640d", "sha256:5d14bc9b30f83480194f343f7b5ac1353c68c65c9945af7a22407fa563656b13", "sha256:81c423718ad756c9ef0f496cfd2ded8473f69e74b875c057b8dd4d5b90bf6716", "sha256:210eb6c5c75af0519f193b7284104c24ffdd5d6dbace113b2a2100dd806259ea", "sha256:4dfbdb0c27332c1f9a55512f28bbef1b342f97c17d266c2f75398e9e946da8cc", "sha256:0a5e1fed76828c6d0954330202071cef2ade53fdebf6286c5ee1a00970eeb621", "sha256:a8c5c0e2c22380ab7e8d16cd5ce5a9da1283560eabd0251d72cc66acd70c7a67", "sha256:e19a288e89ddbe6ec5db412936fe7a81013300da584f41b9e6e5a4d1a3b9606d", "sha256:0959fcd95370369b86102bf77a21537659d44905e8fa4c9b5571a25eb8f103ff", "sha256:6179c8091e95d350f0990068046e70980569d0baf1a9f5f0395bbb6dd762869c", "sha256:5d8aed496389fd1ff424a6f60d106f682a6bfd0efee4028cf5789b3fdbd3a670", "sha256:c8c526bc05d7cb03040d7c14b86ee0607635b11e9ba8a8af2837fec8dfea61ab", "sha256:663cba63f760025e7ba172fdf2684f9cda97d801f7769e81c99bebf7acfe73a7", "sha256:434e3ecc1245966ae0e1f8b7ed7506b65258f9f1a1799ee248ae0a8c37e790da", "sha256:478d83a0e262a35a943012acd5cf0f884df60b4bd22120d707fab773f25a99f6", "sha256:88dc7efd5f34af2d4abec6a79c9be8e2d3578fbe67e83eb10af3d854a8f244d1", "sha256:6ef6c599c78fa5fddaaffba284570ea44f1d039eadad1d5c4b71c855fcde8717", "sha256:ac3ae43c22d69214994fcdaf5640e1677a4e2518aa1f2250cd33f368293caf47", "sha256:c1272f47efaa018a675512951e03a6d88c2cb96c95e337bac834d08574492095"], "outline": [525, 3, "week\ndoses\ndistrict"], "outdated": false}', DEFAULT, DEFAULT, DEFAULT, '2026-11-29 21:25:10.456441', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:10.456441', '2026-11-29 21:25:10.456441', '2026-11-29 21:25:10', 0, NULL, NULL, NULL, NULL, '[[null, 37, ["week", "doses", "district"], false]]', '[{"at": "2026-11-29T21:25:10Z", "method": "GET", "status": 200, "outcome": "hash", "seconds": 0.001, "received": 525}, {"at": "2026-11-29T21:25:03Z", "method": "GET", "status": 200, "outcome": "same hash", "seconds": 0.007, "received": 286}, {"at": "2026-11-29T02:00:00Z", "method": "GET", "status": 200, "outcome": "hash", "seconds": 0.017, "received": 286}, {"at": "2026-11-28T02:00:00Z", "method": "GET", "status": 200, "outcome": "hash", "seconds": 0.001, "received": 278}, {"at": "2026-11-27T02:00:00Z", "method": "GET", "status": 200, "outcome": "hash", "seconds": 0.017, "received": 270}]', 30, 15.329906739548612, '2026-11-29 21:25:09.367227', false, '{"size": 525, "mimetype": "text/csv", "last_modified": "2026-11-29T21:25:10"}', NULL);
INSERT INTO public.freshness_copy VALUES
	('56ca177e-4a7e-4b93-8e69-05b1643a7c45', 'a6f4e9f3-16f1-44df-98af-3b81cfdf375c', 'resources.d/56/56ca177e-4a7e-4b93-8e69-05b1643a7c45', 'resources.d/56/56ca177e-4a7e-4b93-8e69-05b1643a7c45.zip', 218, 259, 'b86ac9df9416c4775c665debc02bb2f090d2b67b91fd9dc353350aa23c7b1246', 'text/csv', 'clinics.csv', 'http://127.0.0.2:44875/clinics.csv', '2026-11-20 02:00:00', '2026-11-20 02:00:00'),
	('9045b658-d750-42cb-8980-f650557d0e28', '3f8594c3-35ac-4704-9b4a-a93f9701dfa7', 'resources.d/90/9045b658-d750-42cb-8980-f650557d0e28', 'resources.d/90/9045b658-d750-42cb-8980-f650557d0e28.zip', 289, 284, 'f33a6641c0b9b92f05c7570374ce02b4ab8080510abc3e7eb9cfd4daad0b137c', 'text/csv', 'roads.csv', 'http://127.0.0.2:44875/roads.csv', '2026-11-29 21:25:06.027865', '2026-11-29 21:25:06.027865');
INSERT INTO public.freshness_dataset VALUES
	('3365d39c-0a79-5846-bfd0-71c7b415f53b', 'overdue', '2026-11-27 12:30:00', 'harvest', 1, 'dataset', '2026-11-28 12:30:00', '2026-11-29 12:30:00', '2026-11-30 12:30:00', '2026-11-30 12:30:00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('b57685c9-31e4-5faf-ade5-833a7932685f', 'unavailable', '2026-09-15 12:30:00', 'harvest', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('2a31c083-0c79-5475-b01e-b837b1134b79', 'delinquent', '2025-08-26 12:30:00', 'harvest', 365, 'dataset', '2026-08-26 12:30:00', '2026-10-25 12:30:00', '2026-11-24 12:30:00', NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('122b2af4-771f-5fc8-8ac9-c30dbd24a825', 'due', '2026-10-22 12:30:00', 'harvest', 30, 'dataset', '2026-11-21 12:30:00', '2026-12-05 12:30:00', '2026-12-21 12:30:00', '2026-12-05 12:30:00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('01b19b51-462c-5958-9473-ec9a4b0c7559', 'fresh', '2026-11-17 12:30:00', 'harvest', 14, 'dataset', '2026-12-01 12:30:00', '2026-12-08 12:30:00', '2026-12-15 12:30:00', '2026-12-01 12:30:00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('128730ef-6cc5-4af8-bc71-38240cfc1e91', 'unavailable', '2024-06-12 21:21:30', 'created', 7, 'dataset', NULL, NULL, NULL, NULL, 'api', NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('3f8594c3-35ac-4704-9b4a-a93f9701dfa7', 'fresh', '2026-11-29 02:00:00', 'hash', 7, 'dataset', '2026-12-06 02:00:00', '2026-12-13 02:00:00', '2026-12-20 02:00:00', '2026-12-06 02:00:00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('406041f3-4e01-4fd3-9efc-559369d7871d', 'fresh', '2026-11-27 21:24:39', 'upload', 7, 'dataset', '2026-12-04 21:24:39', '2026-12-11 21:24:39', '2026-12-18 21:24:39', '2026-12-04 21:24:39', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('a73d8d57-f253-4bb1-89cf-833f225f77e5', 'due', '2024-06-12 21:24:39', 'created', 30, 'dataset', '2026-11-25 21:24:39', '2026-12-09 21:24:39', '2026-12-25 21:24:39', '2026-12-09 21:24:39', NULL, NULL, NULL, false, '2026-10-26 21:24:39', NULL, NULL, NULL, NULL, NULL),
	('63130b8b-a1eb-40ed-af7b-dcf714caa9af', 'overdue', '2024-06-12 21:24:39', 'created', 7, 'dataset', '2026-11-20 21:24:39', '2026-11-27 21:24:39', '2026-12-04 21:24:39', '2026-12-04 21:24:39', NULL, NULL, NULL, false, '2026-11-13 21:24:39', NULL, NULL, NULL, NULL, NULL),
	('97361d0d-5540-4d4e-937a-c6faaf7a003a', 'delinquent', '2024-06-12 21:24:39', 'created', 14, 'dataset', '2026-10-14 21:24:39', '2026-10-21 21:24:39', '2026-10-28 21:24:39', NULL, NULL, NULL, NULL, false, '2026-09-30 21:24:39', NULL, NULL, NULL, NULL, NULL),
	('66bf60a9-90d9-47e2-b8cd-33d856cc5526', 'overdue', '2026-11-11 21:24:39', 'upload', 7, 'dataset', '2026-11-18 21:24:39', '2026-11-25 21:24:39', '2026-12-02 21:24:39', '2026-12-02 21:24:39', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('65608654-43f9-4102-8e76-0a022e30591f', 'unavailable', '2024-06-12 21:24:39', 'created', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, '2026-08-31 21:24:39', NULL, NULL, NULL, NULL, NULL),
	('ff48cd17-40fe-46bc-87e1-aba6f0a6b468', 'fresh', '2024-06-12 21:24:39', 'created', 365, 'dataset', '2027-11-29 21:25:01', '2028-01-28 21:25:01', '2028-02-27 21:25:01', '2027-11-29 21:25:01', NULL, NULL, NULL, false, '2026-11-29 21:25:01', NULL, NULL, NULL, NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'fresh', '2026-11-29 21:25:10', 'hash', 7, 'dataset', '2026-12-06 21:25:10', '2026-12-13 21:25:10', '2026-12-20 21:25:10', '2026-12-06 21:25:10', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL),
	('a6f4e9f3-16f1-44df-98af-3b81cfdf375c', 'fresh', '2026-11-20 02:00:00', 'hash', 30, 'dataset', '2026-12-20 02:00:00', '2027-01-03 02:00:00', '2027-01-19 02:00:00', '2026-12-20 02:00:00', NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, '2026-11-21 02:00:00', NULL);
INSERT INTO public.freshness_evidence VALUES
	('3365d39c-0a79-5846-bfd0-71c7b415f53b', '', 'harvest', '2026-11-27 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('3365d39c-0a79-5846-bfd0-71c7b415f53b', '9fd90315-e3f8-5184-b4b2-a6b6e90c385f', 'harvest', '2026-11-27 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('b57685c9-31e4-5faf-ade5-833a7932685f', '', 'harvest', '2026-09-15 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('b57685c9-31e4-5faf-ade5-833a7932685f', '827fa304-f4bd-59ce-ad7f-d646a09be8af', 'harvest', '2026-09-15 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('b57685c9-31e4-5faf-ade5-833a7932685f', '6466a6e1-afe7-5efd-a1c9-f2a501bba8f5', 'harvest', '2026-09-15 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('2a31c083-0c79-5475-b01e-b837b1134b79', '', 'harvest', '2025-08-26 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('2a31c083-0c79-5475-b01e-b837b1134b79', '17d8fbc4-6da9-5eb6-92ec-62c301dfe3cc', 'harvest', '2025-08-26 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('2a31c083-0c79-5475-b01e-b837b1134b79', '2815e773-51e3-5dc7-9872-a8d84c1b319e', 'harvest', '2025-08-26 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('122b2af4-771f-5fc8-8ac9-c30dbd24a825', '', 'harvest', '2026-10-22 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('122b2af4-771f-5fc8-8ac9-c30dbd24a825', '69fb4705-43e8-5335-b24b-6e2c19c920eb', 'harvest', '2026-10-22 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('01b19b51-462c-5958-9473-ec9a4b0c7559', '', 'harvest', '2026-11-17 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('01b19b51-462c-5958-9473-ec9a4b0c7559', '8acc53f6-547e-5155-987d-c80b920747f3', 'harvest', '2026-11-17 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('01b19b51-462c-5958-9473-ec9a4b0c7559', 'fed7a045-587b-5a81-a95f-8a4044125187', 'harvest', '2026-11-17 12:30:00', NULL, 'ckan211_py311_demo', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'fa7e50a5-f565-454c-97a9-c74cff79bea0', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', '3d5ab34b-a84d-4e84-aa41-dff71a729003', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', '40540b62-a76a-4036-b30c-705aa7839887', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'eabe85e1-1378-4eed-b3d8-c013829f1974', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', '645479ea-3358-4656-b8b8-0618c3397bd3', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', '838df63c-66be-4165-a98d-3f3b00ca7c1a', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', '5da1d261-d626-4581-a129-a5ac53ea871b', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('128730ef-6cc5-4af8-bc71-38240cfc1e91', '51955768-507b-49d9-b379-685387ca5fdf', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('3f8594c3-35ac-4704-9b4a-a93f9701dfa7', '9045b658-d750-42cb-8980-f650557d0e28', 'created', '2024-06-12 21:21:30', NULL, 'editor', NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', '79042142-a867-437d-aac4-9e45ed79ac99', 'http header', '2025-10-25 21:19:29', NULL, NULL, NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'ce77d30c-ef35-4ea1-9847-e5e3b7f86e3c', 'hash', '2026-11-01 02:00:00', NULL, NULL, NULL, NULL),
	('3f8594c3-35ac-4704-9b4a-a93f9701dfa7', '9045b658-d750-42cb-8980-f650557d0e28', 'hash', '2026-11-29 02:00:00', NULL, NULL, NULL, NULL),
	('406041f3-4e01-4fd3-9efc-559369d7871d', '16b4d302-55c4-46e4-9be6-2d4e7656ca7f', 'upload', '2026-11-27 21:24:39', NULL, 'editor', NULL, NULL),
	('a73d8d57-f253-4bb1-89cf-833f225f77e5', '', 'review', '2026-10-26 21:24:39', NULL, 'editor', NULL, NULL),
	('a73d8d57-f253-4bb1-89cf-833f225f77e5', '709d0ffd-50a1-414c-81d5-c92924d9e42a', 'created', '2024-06-12 21:24:39', NULL, 'editor', NULL, NULL),
	('63130b8b-a1eb-40ed-af7b-dcf714caa9af', '', 'review', '2026-11-13 21:24:39', NULL, 'editor', NULL, NULL),
	('a6f4e9f3-16f1-44df-98af-3b81cfdf375c', '56ca177e-4a7e-4b93-8e69-05b1643a7c45', 'http header', '2026-11-19 02:21:00', NULL, NULL, NULL, NULL),
	('a6f4e9f3-16f1-44df-98af-3b81cfdf375c', '56ca177e-4a7e-4b93-8e69-05b1643a7c45', 'hash', '2026-11-20 02:00:00', NULL, NULL, NULL, NULL),
	('63130b8b-a1eb-40ed-af7b-dcf714caa9af', '588a799f-d530-4791-9554-b481a8e50d5c', 'created', '2024-06-12 21:24:39', NULL, 'editor', NULL, NULL),
	('97361d0d-5540-4d4e-937a-c6faaf7a003a', '', 'review', '2026-09-30 21:24:39', NULL, 'editor', NULL, NULL),
	('97361d0d-5540-4d4e-937a-c6faaf7a003a', '1f8e0159-6fc0-4bf5-ab07-554f59fed963', 'created', '2024-06-12 21:24:39', NULL, 'editor', NULL, NULL),
	('ff48cd17-40fe-46bc-87e1-aba6f0a6b468', 'b88186ab-3314-4d59-8990-3dd66340a684', 'created', '2024-06-12 21:24:39', NULL, 'editor', NULL, NULL),
	('66bf60a9-90d9-47e2-b8cd-33d856cc5526', '2b009b5b-b7cf-4638-bc62-575556090d40', 'upload', '2026-11-11 21:24:39', NULL, 'editor', NULL, NULL),
	('65608654-43f9-4102-8e76-0a022e30591f', '', 'review', '2026-08-31 21:24:39', NULL, 'editor', NULL, NULL),
	('65608654-43f9-4102-8e76-0a022e30591f', '5a0fab31-2437-4ae3-80c4-8e3c375de79d', 'created', '2024-06-12 21:24:39', NULL, 'editor', NULL, NULL),
	('ff48cd17-40fe-46bc-87e1-aba6f0a6b468', '', 'review', '2026-11-29 21:25:01', NULL, 'editor', '2026-05-13 21:24:39', 'editor'),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'ce77d30c-ef35-4ea1-9847-e5e3b7f86e3c', 'http header', '2026-11-28 21:56:09', NULL, NULL, NULL, NULL),
	('ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'fa7e50a5-f565-454c-97a9-c74cff79bea0', 'hash', '2026-11-29 21:25:10', NULL, NULL, NULL, NULL);
INSERT INTO public.freshness_harvest_document VALUES
	('add0b17c-6947-403d-8f39-fa4ebbe85f8c', 'missing since', 'missing since', '{}'),
	('0363bae8-8a89-4681-a7d9-e5c72ee13503', 'http://127.0.0.1:38487#list', 'list', '""'),
	('0363bae8-8a89-4681-a7d9-e5c72ee13503', 'http://127.0.0.1:38487/catalog/response#list', 'list', '"http://127.0.0.1:38487/catalog/response"'),
	('798a28eb-76c4-4198-812a-09c96151e0d0', 'http://127.0.0.1:45097#list', 'list', '""'),
	('798a28eb-76c4-4198-812a-09c96151e0d0', 'http://127.0.0.1:45097/catalog/open-data#list', 'list', '"http://127.0.0.1:45097/catalog/open-data"'),
	('add0b17c-6947-403d-8f39-fa4ebbe85f8c', 'http://127.0.0.1:43349/catalog.ttl?fq=organization:rural-health', '54770c31d7f73a513e65cd130501e4a0e7666a6203d9f82df06247d9c4dc9be7', '{"filled": ["http://127.0.0.1:43349"], "shared": {}, "totals": [2], "records": {"http://127.0.0.1:43349/dataset/3f8594c3-35ac-4704-9b4a-a93f9701dfa7": ["7f0d8f22362434c888ef80a76ea4ec634a9e7508cafdf3a928ff9abd12344a85", 23, false, true, ["3f8594c3-35ac-4704-9b4a-a93f9701dfa7"]], "http://127.0.0.1:43349/dataset/a6f4e9f3-16f1-44df-98af-3b81cfdf375c": ["cf95435053a00978b33b2c633cadbb0118e0292b1d3de73324093cbd7b4903b7", 23, false, true, ["a6f4e9f3-16f1-44df-98af-3b81cfdf375c"]]}, "catalogs": [], "contested": [], "has_marks": true, "last_pages": [], "next_pages": [], "undescribed": [], "unidentified": 0}');
INSERT INTO public.freshness_harvest_hold VALUES
	('798a28eb-76c4-4198-812a-09c96151e0d0', '3250ab4f-6dd9-4951-a1ff-edda59923550', '2026-11-29 21:21:08.479559', '8 of 12 records would be deleted, and one job may delete at most 20% of them without an approval (max_delete_fraction)', '[{"url": "http://127.0.0.1:45097/dataset/bicycle-counts", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/bicycle-counts", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "de50a934-d35b-52af-afa1-4aacea988ff5", "reason_code": {"code": "gone", "values": {}}}, {"url": "http://127.0.0.1:45097/dataset/budget-of-the-region", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/budget-of-the-region", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "c47c3414-4130-587b-b555-2c130ddba3e2", "reason_code": {"code": "gone", "values": {}}}, {"url": "http://127.0.0.1:45097/dataset/building-permits-by-month", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/building-permits-by-month", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "837d80a1-bde7-5e8a-869f-4e922f81f15b", "reason_code": {"code": "gone", "values": {}}}, {"url": "http://127.0.0.1:45097/dataset/charging-points-for-electric-vehicles", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/charging-points-for-electric-vehicles", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "4472db2b-7e61-5c9a-8537-cf4578df4698", "reason_code": {"code": "gone", "values": {}}}, {"url": "http://127.0.0.1:45097/dataset/flood-zones", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/flood-zones", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "4f5e3a13-cce2-5571-8578-f70e8c3d1f36", "reason_code": {"code": "gone", "values": {}}}, {"url": "http://127.0.0.1:45097/dataset/kindergartens-and-free-places", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/kindergartens-and-free-places", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "4b54ebe0-b684-58b8-bb96-03b3a168b159", "reason_code": {"code": "gone", "values": {}}}, {"url": "http://127.0.0.1:45097/dataset/noise-map-of-main-roads", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/noise-map-of-main-roads", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "a66736ab-73de-5414-a408-2e60c9f31cc8", "reason_code": {"code": "gone", "values": {}}}, {"url": "http://127.0.0.1:45097/dataset/recycling-points", "guid": "catalog=http://127.0.0.1:45097/catalog/open-data;dataset=http://127.0.0.1:45097/dataset/recycling-points", "reason": "The source says that it is gone: its own URL answers 404 or 410", "own_url": "gone", "answered": false, "released": null, "package_id": "4f1cc6d0-24e4-507b-bb11-dcc7dd90a08a", "reason_code": {"code": "gone", "values": {}}}]', NULL, NULL, NULL, NULL);
INSERT INTO public.freshness_harvest_report VALUES
	('896ba587-3ed9-4a07-b37f-e61114f5c88f', '0363bae8-8a89-4681-a7d9-e5c72ee13503', 0, '[]', '[]', '[{"kind": "draft", "count": 3, "examples": ["http://127.0.0.1:38487/dataset/new-variant-dashboard", "http://127.0.0.1:38487/dataset/shelter-pipeline", "http://127.0.0.1:38487/dataset/small-area-poverty"]}]'),
	('f16f783f-f0dd-47fc-8ffe-2efd6ab5195b', '798a28eb-76c4-4198-812a-09c96151e0d0', 0, '[]', '[]', '[]'),
	('3250ab4f-6dd9-4951-a1ff-edda59923550', '798a28eb-76c4-4198-812a-09c96151e0d0', 3, '[]', '[]', '[]'),
	('d1b4cbe2-be39-4a7a-acac-ce2667f36263', '38040263-ec5f-4780-bd8c-f77cee0f9ad2', 0, '[]', '[]', '[]'),
	('0de2b6ba-7509-4fc0-a92b-e9f5cd77f234', 'da498b82-c934-4abc-9065-4a4d4507366a', 0, '[]', '[]', '[]'),
	('1968656e-a33d-4f11-a8d3-ad2eae6518fa', 'add0b17c-6947-403d-8f39-fa4ebbe85f8c', 0, '[]', '[]', '[]');
INSERT INTO public.freshness_history VALUES
	('2026-11-28', '2026-11-29 01:41:07', '{"fresh": 37, "overdue": 11}', '{}');
INSERT INTO public.freshness_iati VALUES
	('a-file', 'a-package', 'a-source', 'an-organisation', 'Reporting Organisation', 'a-dataset', 'ro-activities', '{"hash": "5d41402abc4b2a76"}', '2026-11-27 02:00:00', '2026-11-20 02:00:00', true),
	('another-file', 'another-package', 'a-source', 'an-organisation', 'Reporting Organisation', 'another-dataset', 'ro-2', '{}', NULL, NULL, false);
INSERT INTO public.freshness_mail VALUES
	('begun', '', '', '2026-11-20 01:50:00', NULL),
	('overdue', 'a-package', 'ann@example.org', '2026-11-28 01:50:00', NULL),
	('broken', 'a-resource', 'bob@example.org', NULL, NULL),
	('held', 'a-source', 'ann@example.org', '2026-11-28 01:50:03', 'the mail server refused it');
INSERT INTO public.freshness_mail_person VALUES
	(1, 'ann@example.org', 'all', '{"overdue": "2026-11-28T01:50:00+00:00"}'),
	(2, 'bob@example.org', 'none', '{}');
INSERT INTO public.freshness_resource VALUES
	('9fd90315-e3f8-5184-b4b2-a6b6e90c385f', '3365d39c-0a79-5846-bfd0-71c7b415f53b', 'http://127.0.0.1:38487/files/lake-level.csv', 'd72513ee0bee87fd0b115ef5b28d93b6b30202dbf1b27dd538b61d7b3ae48a88', 'ckan211_py311_demo', NULL, NULL),
	('6466a6e1-afe7-5efd-a1c9-f2a501bba8f5', 'b57685c9-31e4-5faf-ade5-833a7932685f', 'http://127.0.0.1:38487/files/rapid-needs-flood.zip', 'eaf520a04c2ca0b0d2005b355ab409b475be5b0f583ed4d3109fd24ca181b2f6', 'ckan211_py311_demo', NULL, NULL),
	('709d0ffd-50a1-414c-81d5-c92924d9e42a', 'a73d8d57-f253-4bb1-89cf-833f225f77e5', 'http://127.0.0.2:44875/tables/health-posts.csv', NULL, 'editor', NULL, NULL),
	('17d8fbc4-6da9-5eb6-92ec-62c301dfe3cc', '2a31c083-0c79-5475-b01e-b837b1134b79', 'http://127.0.0.1:38487/files/forest-cover-loss.csv', 'a3bd86f829c54daafdcd0f7893340b8d99379bb79091134d02ee97516307f6ee', 'ckan211_py311_demo', NULL, NULL),
	('69fb4705-43e8-5335-b24b-6e2c19c920eb', '122b2af4-771f-5fc8-8ac9-c30dbd24a825', 'http://127.0.0.1:38487/files/measles-monthly.csv', '2f39ecb28e2e3767c2c8bfe8fcde1d039e38e9aa1363a586b553a049a897538c', 'ckan211_py311_demo', NULL, NULL),
	('588a799f-d530-4791-9554-b481a8e50d5c', '63130b8b-a1eb-40ed-af7b-dcf714caa9af', 'http://127.0.0.2:44875/tables/water-points.csv', NULL, 'editor', NULL, NULL),
	('fed7a045-587b-5a81-a95f-8a4044125187', '01b19b51-462c-5958-9473-ec9a4b0c7559', 'http://127.0.0.1:38487/files/nutrition-screening.json', '3ab9459ee6981f79f2ba5dd72e99b06e714cad394ef1139a6317f465be6e0db6', 'ckan211_py311_demo', NULL, NULL),
	('fa7e50a5-f565-454c-97a9-c74cff79bea0', 'ed06f4ef-655e-42e0-a5b2-a820d8fe8339', 'http://127.0.0.2:44875/stocks.csv', NULL, 'editor', NULL, NULL),
	('51955768-507b-49d9-b379-685387ca5fdf', '128730ef-6cc5-4af8-bc71-38240cfc1e91', 'http://127.0.0.2:44875/api/prices.json', NULL, 'editor', NULL, NULL),
	('56ca177e-4a7e-4b93-8e69-05b1643a7c45', 'a6f4e9f3-16f1-44df-98af-3b81cfdf375c', 'http://127.0.0.2:44875/clinics.csv', NULL, 'editor', NULL, NULL),
	('9045b658-d750-42cb-8980-f650557d0e28', '3f8594c3-35ac-4704-9b4a-a93f9701dfa7', 'http://127.0.0.2:44875/roads.csv', NULL, 'editor', NULL, NULL),
	('16b4d302-55c4-46e4-9be6-2d4e7656ca7f', '406041f3-4e01-4fd3-9efc-559369d7871d', 'http://127.0.0.2:44875/tables/market-prices.csv', NULL, 'editor', NULL, NULL),
	('1f8e0159-6fc0-4bf5-ab07-554f59fed963', '97361d0d-5540-4d4e-937a-c6faaf7a003a', 'http://127.0.0.2:44875/tables/displacement.csv', NULL, 'editor', NULL, NULL),
	('5a0fab31-2437-4ae3-80c4-8e3c375de79d', '65608654-43f9-4102-8e76-0a022e30591f', 'http://127.0.0.2:44875/tables/place-names.csv', NULL, 'editor', NULL, NULL),
	('b88186ab-3314-4d59-8990-3dd66340a684', 'ff48cd17-40fe-46bc-87e1-aba6f0a6b468', 'http://127.0.0.2:44875/tables/school-census.csv', NULL, 'editor', NULL, NULL),
	('2b009b5b-b7cf-4638-bc62-575556090d40', '66bf60a9-90d9-47e2-b8cd-33d856cc5526', 'http://127.0.0.2:44875/tables/food-stocks.csv', NULL, 'editor', NULL, NULL);
INSERT INTO public.freshness_run VALUES
	('090690fb-ce7c-4e44-b0df-da8cb9e0959d', 'check', '2026-11-29 21:25:03.313144', '2026-11-29 21:25:09.311276', '{"host": null, "policy": null, "everything": true, "package_ids": null}', '{"api": 2, "error": 3, "same hash": 100, "first hash": 10, "cannot tell": 1, "not modified": 4}', '{"1: Due, Updated nothing": 6, "1: Due, Updated firstrun": 2, "0: Fresh, Updated nothing": 31, "0: Fresh, Updated firstrun": 2, "2: Overdue, Updated nothing": 9, "2: Overdue, Updated firstrun": 2, "0: Fresh, Updated review date": 1, "3: Delinquent, Updated nothing": 12, "0: Fresh, Updated nothing,error": 1, "3: Delinquent, Updated firstrun": 1, "Freshness Unavailable, Updated nothing": 3, "Freshness Unavailable, Updated firstrun": 2}', '{"live": 2, "never": 2, "as needed": 2}', '{"*": {"bytes": 51213, "hosts": 3, "checks": 120, "errors": 3, "reason": "404", "blocked": 1, "put_off": 0, "repaired": 0, "in_trouble": 1, "newly_broken": 0}, "127.0.0.1": {"bytes": 49767, "checks": 90, "errors": 0, "blocked": 0, "put_off": 0}, "127.0.0.2": {"bytes": 1358, "checks": 22, "errors": 3, "reason": "404", "blocked": 1, "put_off": 0}, "127.0.0.4": {"bytes": 88, "checks": 8, "errors": 0, "blocked": 0, "put_off": 0}}', 120, NULL, '0.1.0'),
	('42d57eb6-cc2d-4b08-92f2-737416484b76', 'check', '2026-11-29 21:25:09.367227', '2026-11-29 21:25:14.319112', '{"host": null, "policy": null, "everything": true, "package_ids": null}', '{"api": 2, "hash": 1, "error": 4, "same hash": 98, "cannot tell": 1, "http header": 1, "not modified": 13}', '{"1: Due, Updated nothing": 8, "0: Fresh, Updated nothing": 32, "2: Overdue, Updated nothing": 11, "3: Delinquent, Updated nothing": 13, "0: Fresh, Updated nothing,error": 2, "0: Fresh, Updated http header,hash": 1, "Freshness Unavailable, Updated nothing": 5}', '{"live": 2, "never": 2, "as needed": 2}', '{"*": {"bytes": 51186, "hosts": 3, "checks": 120, "errors": 4, "reason": "404", "blocked": 1, "put_off": 0, "repaired": 0, "in_trouble": 1, "newly_broken": 0}, "127.0.0.1": {"bytes": 49767, "checks": 90, "errors": 0, "blocked": 0, "put_off": 0}, "127.0.0.2": {"bytes": 1331, "checks": 22, "errors": 4, "reason": "404", "blocked": 1, "put_off": 0}, "127.0.0.4": {"bytes": 88, "checks": 8, "errors": 0, "blocked": 0, "put_off": 0}}', 120, NULL, '0.1.0');
INSERT INTO public.freshness_transition VALUES
	(23, '2a31c083-0c79-5475-b01e-b837b1134b79', NULL, 'delinquent', '2026-11-29 21:20:27', 'harvest', 'edit', NULL, 'package_create', NULL, NULL, NULL, 'ckan211_py311_demo', NULL, NULL),
	(31, '122b2af4-771f-5fc8-8ac9-c30dbd24a825', NULL, 'due', '2026-11-29 21:20:34', 'harvest', 'edit', NULL, 'package_create', NULL, NULL, NULL, 'ckan211_py311_demo', NULL, NULL),
	(39, '01b19b51-462c-5958-9473-ec9a4b0c7559', NULL, 'fresh', '2026-11-29 21:20:41', 'harvest', 'edit', NULL, 'package_create', NULL, NULL, NULL, 'ckan211_py311_demo', NULL, NULL),
	(62, '3f8594c3-35ac-4704-9b4a-a93f9701dfa7', NULL, 'delinquent', '2026-11-29 21:21:37', 'created', 'edit', NULL, 'package_create', NULL, NULL, NULL, 'editor', NULL, NULL),
	(66, '3f8594c3-35ac-4704-9b4a-a93f9701dfa7', 'delinquent', 'fresh', '2026-11-01 02:00:00', 'hash', 'check', 'e349dd19-c205-40e8-abcc-f7b49b64a500', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(67, '406041f3-4e01-4fd3-9efc-559369d7871d', NULL, 'fresh', '2026-11-29 21:24:39', 'upload', 'edit', NULL, 'package_create', NULL, NULL, NULL, 'editor', NULL, NULL),
	(68, 'a73d8d57-f253-4bb1-89cf-833f225f77e5', NULL, 'due', '2026-11-29 21:24:42', 'review', 'confirmation', NULL, 'package_create', NULL, NULL, NULL, 'editor', NULL, NULL),
	(70, '97361d0d-5540-4d4e-937a-c6faaf7a003a', NULL, 'delinquent', '2026-11-29 21:24:47', 'review', 'confirmation', NULL, 'package_create', NULL, NULL, NULL, 'editor', NULL, NULL),
	(72, 'ff48cd17-40fe-46bc-87e1-aba6f0a6b468', NULL, 'fresh', '2026-11-29 21:24:51', 'review', 'confirmation', NULL, 'package_create', NULL, NULL, NULL, 'editor', NULL, NULL);
INSERT INTO public.freshness_unindexed VALUES
	('a-package', '2026-11-28 10:00:00');
INSERT INTO public.iati_harvester_alembic_version VALUES
	('001_0_1_0');
SELECT pg_catalog.setval('public.freshness_mail_person_id_seq', 2, true);
SELECT pg_catalog.setval('public.freshness_transition_id_seq', 78, true);
ALTER TABLE ONLY public.freshness_alembic_version
    ADD CONSTRAINT freshness_alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.freshness_change
    ADD CONSTRAINT freshness_change_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.freshness_check
    ADD CONSTRAINT freshness_check_pkey PRIMARY KEY (resource_id);
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_key_key UNIQUE (key);
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_pkey PRIMARY KEY (resource_id);
ALTER TABLE ONLY public.freshness_dataset
    ADD CONSTRAINT freshness_dataset_pkey PRIMARY KEY (package_id);
ALTER TABLE ONLY public.freshness_evidence
    ADD CONSTRAINT freshness_evidence_pkey PRIMARY KEY (package_id, resource_id, evidence);
ALTER TABLE ONLY public.freshness_harvest_document
    ADD CONSTRAINT freshness_harvest_document_pkey PRIMARY KEY (source_id, url);
ALTER TABLE ONLY public.freshness_harvest_hold
    ADD CONSTRAINT freshness_harvest_hold_pkey PRIMARY KEY (source_id);
ALTER TABLE ONLY public.freshness_harvest_report
    ADD CONSTRAINT freshness_harvest_report_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY public.freshness_history
    ADD CONSTRAINT freshness_history_pkey PRIMARY KEY (day);
ALTER TABLE ONLY public.freshness_iati
    ADD CONSTRAINT freshness_iati_pkey PRIMARY KEY (resource_id);
ALTER TABLE ONLY public.freshness_mail_person
    ADD CONSTRAINT freshness_mail_person_address_key UNIQUE (address);
ALTER TABLE ONLY public.freshness_mail_person
    ADD CONSTRAINT freshness_mail_person_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.freshness_mail
    ADD CONSTRAINT freshness_mail_pkey PRIMARY KEY (kind, about, address);
ALTER TABLE ONLY public.freshness_resource
    ADD CONSTRAINT freshness_resource_pkey PRIMARY KEY (resource_id);
ALTER TABLE ONLY public.freshness_run
    ADD CONSTRAINT freshness_run_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.freshness_transition
    ADD CONSTRAINT freshness_transition_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.freshness_unindexed
    ADD CONSTRAINT freshness_unindexed_pkey PRIMARY KEY (package_id);
ALTER TABLE ONLY public.iati_harvester_alembic_version
    ADD CONSTRAINT iati_harvester_alembic_version_pkc PRIMARY KEY (version_num);
CREATE INDEX ix_freshness_change_package_id ON public.freshness_change USING btree (package_id, seen_at);
CREATE UNIQUE INDEX ix_freshness_change_position ON public.freshness_change USING btree ("position");
CREATE INDEX ix_freshness_change_seen_at ON public.freshness_change USING btree (seen_at);
CREATE INDEX ix_freshness_change_unplaced ON public.freshness_change USING btree (id) WHERE ("position" IS NULL);
CREATE INDEX ix_freshness_check_failing ON public.freshness_check USING btree (failing_since, resource_id) INCLUDE (failures, failed_at, package_id) WHERE (failing_since IS NOT NULL);
CREATE INDEX ix_freshness_check_failures ON public.freshness_check USING btree (failures, resource_id) INCLUDE (failing_since, failed_at, package_id) WHERE (failing_since IS NOT NULL);
CREATE INDEX ix_freshness_check_hash ON public.freshness_check USING hash (hash);
CREATE INDEX ix_freshness_check_host ON public.freshness_check USING btree (host);
CREATE INDEX ix_freshness_check_mended ON public.freshness_check USING btree (split_part(url_before, '/'::text, 3)) WHERE (url_before IS NOT NULL);
CREATE INDEX ix_freshness_check_mismatch ON public.freshness_check USING btree (host, resource_id) WHERE (found IS NOT NULL);
CREATE INDEX ix_freshness_check_package_id ON public.freshness_check USING btree (package_id);
CREATE INDEX ix_freshness_check_undetermined ON public.freshness_check USING btree (host, resource_id) WHERE (undetermined IS NOT NULL);
CREATE INDEX ix_freshness_copy_package_id ON public.freshness_copy USING btree (package_id);
CREATE INDEX ix_freshness_dataset_judge_anew ON public.freshness_dataset USING btree (package_id) WHERE judge_anew;
CREATE INDEX ix_freshness_dataset_next_boundary ON public.freshness_dataset USING btree (next_boundary);
CREATE INDEX ix_freshness_dataset_people ON public.freshness_dataset USING btree (package_id) WHERE ((evidence = ANY (ARRAY['created'::text, 'url'::text])) AND (NOT judge_anew));
CREATE INDEX ix_freshness_dataset_undeclared ON public.freshness_dataset USING btree (last_modified DESC NULLS LAST, package_id) WHERE (frequency_days IS NULL);
CREATE INDEX ix_freshness_dataset_urgent ON public.freshness_dataset USING btree (array_position(ARRAY['delinquent'::text, 'overdue'::text, 'due'::text], status), due, package_id) WHERE (status = ANY (ARRAY['due'::text, 'overdue'::text, 'delinquent'::text]));
CREATE INDEX ix_freshness_iati_package_id ON public.freshness_iati USING btree (package_id);
CREATE INDEX ix_freshness_iati_source_id ON public.freshness_iati USING btree (source_id);
CREATE INDEX ix_freshness_resource_package_id ON public.freshness_resource USING btree (package_id);
CREATE INDEX ix_freshness_run_started_at ON public.freshness_run USING btree (started_at);
CREATE INDEX ix_freshness_transition_changed_at ON public.freshness_transition USING btree (changed_at);
CREATE INDEX ix_freshness_transition_package_id ON public.freshness_transition USING btree (package_id);
