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
COMMENT ON COLUMN public.freshness_mail.about IS 'id of the transition, the resource, dataset or organization; for runs the problem and the run''s id: failed:...';
COMMENT ON COLUMN public.freshness_mail.address IS 'e-mail address; empty where nobody is told';
COMMENT ON COLUMN public.freshness_mail.package_id IS 'dataset; empty for runs';
COMMENT ON COLUMN public.freshness_mail.outcome IS 'waiting, claimed, sent, refused, unknown, or why nobody is told: fresh again, opted out, nobody, gone';
COMMENT ON COLUMN public.freshness_mail.tries IS 'how often it was handed to the mail server';
COMMENT ON COLUMN public.freshness_mail.mail_id IS 'UUID of the last mail in which it stood';
COMMENT ON COLUMN public.freshness_mail.claimed_at IS 'when that mail was about to be sent';
COMMENT ON COLUMN public.freshness_mail.ended_at IS 'when its outcome was known';
COMMENT ON COLUMN public.freshness_mail.error IS 'why the last try failed; empty if it did not';
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
COMMENT ON COLUMN public.freshness_mail_person.id IS 'stands in the links of its mails';
COMMENT ON COLUMN public.freshness_mail_person.address IS 'e-mail address, in small letters';
COMMENT ON COLUMN public.freshness_mail_person.opted_out_at IS 'when its owner switched off all mails; empty if some are wanted';
COMMENT ON COLUMN public.freshness_mail_person.off IS 'kinds of mails that its owner switched off';
COMMENT ON COLUMN public.freshness_mail_person.told_at IS 'the time of the last mail by kind';
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
