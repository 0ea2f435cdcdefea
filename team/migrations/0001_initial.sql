-- Functions

CREATE FUNCTION public.team_current_clients(of_account bigint, ids bigint[]) RETURNS TABLE (
    client_id bigint, is_found boolean, last_activity_at timestamptz, next_task_at timestamptz, open_sum numeric, won_sum numeric
) LANGUAGE sql STABLE AS $$
    SELECT given.id, client.id IS NOT NULL, live.last_activity_at, live.next_task_at, coalesce(revenue.open_sum, 0),
        coalesce(revenue.won_sum, 0)
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_client WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS client ON true
    LEFT JOIN LATERAL (
        SELECT
            greatest(client.created_at, (
                SELECT max(at) FROM team_timelineentry
                WHERE account_id = of_account AND client_id = client.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
            least(
                (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND client_id = client.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ),
                (SELECT min(next_task_at) FROM team_contactsummary WHERE account_id = of_account AND client_id = client.id),
                (SELECT min(next_task_at) FROM team_dealsummary WHERE account_id = of_account AND client_id = client.id)
            ) AS next_task_at
        WHERE client.trashed_at IS NULL AND client.id IS NOT NULL
    ) AS live ON true
    LEFT JOIN LATERAL (
        SELECT * FROM team_clientrevenue WHERE account_id = of_account AND client_id = given.id
            AND currency = (SELECT account.currency FROM accounts_account AS account WHERE account.id = of_account)
        OFFSET 0
    ) AS revenue ON true
$$;

CREATE FUNCTION public.team_current_contacts(of_account bigint, ids bigint[]) RETURNS TABLE (
    contact_id bigint, is_found boolean, client_id bigint, last_activity_at timestamptz, next_task_at timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT given.id, contact.id IS NOT NULL, live.client_id, live.last_activity_at, live.next_task_at
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_contact WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS contact ON true
    LEFT JOIN LATERAL (
        SELECT contact.client_id,
            greatest(contact.created_at, (
                SELECT max(at) FROM team_timelineentry
                WHERE account_id = of_account AND contact_id = contact.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
            least(
                (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND contact_id = contact.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ),
                (SELECT min(next_task_at) FROM team_dealsummary WHERE account_id = of_account AND contact_id = contact.id)
            ) AS next_task_at
        WHERE contact.trashed_at IS NULL AND contact.id IS NOT NULL
    ) AS live ON true
$$;

CREATE FUNCTION public.team_current_deals(of_account bigint, ids bigint[]) RETURNS TABLE (
    deal_id bigint, is_found boolean, client_id bigint, contact_id bigint, last_activity_at timestamptz, next_task_at timestamptz,
    outcome text, currency text, price numeric
) LANGUAGE sql STABLE AS $$
    SELECT given.id, deal.id IS NOT NULL, live.client_id, live.contact_id, live.last_activity_at, live.next_task_at, live.outcome,
        live.currency, live.price
    FROM unnest(ids) AS given (id)
    LEFT JOIN LATERAL (
        SELECT * FROM crm_deal WHERE account_id = of_account AND id = given.id OFFSET 0
    ) AS deal ON true
    LEFT JOIN LATERAL (
        SELECT deal.client_id, deal.contact_id,
            greatest(deal.created_at, (
                SELECT max(at) FROM team_timelineentry
                WHERE account_id = of_account AND deal_id = deal.id AND kind IN ('note', 'call', 'meeting', 'email', 'task_done', 'suggestion', 'vote', 'message')
            )) AS last_activity_at,
            (
        SELECT min(scheduled_at) FROM forum_post
        WHERE account_id = of_account AND deal_id = deal.id AND trashed_at IS NULL AND category_id IS NULL AND NOT closed
    ) AS next_task_at,
            coalesce((
                SELECT status.outcome FROM accounts_status AS status
                WHERE status.account_id = of_account AND status.id = deal.status_id
            ), 'open') AS outcome,
            deal.currency, coalesce(deal.price, 0) AS price
        WHERE deal.trashed_at IS NULL AND deal.id IS NOT NULL
    ) AS live ON true
$$;

CREATE FUNCTION public.team_update_summaries(of_account bigint, deals bigint[], contacts bigint[], clients bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
DECLARE
    linked_contacts bigint[];
    linked_clients bigint[];
    number_of_clients integer := 0;
BEGIN
    IF cardinality(deals) > 0 THEN
        PERFORM FROM team_dealsummary
            WHERE account_id = of_account AND deal_id = ANY (deals) ORDER BY deal_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.client_id AS old_client_id, old.contact_id AS old_contact_id, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at, old.outcome AS old_outcome, old.currency AS old_currency, old.price AS old_price FROM team_current_deals(of_account, deals) AS new
        LEFT JOIN LATERAL (SELECT * FROM team_dealsummary WHERE account_id = of_account AND deal_id = new.deal_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.deal_id IS NULL OR (new.client_id, new.contact_id, new.last_activity_at, new.next_task_at, new.outcome, new.currency, new.price) IS DISTINCT FROM (old.client_id, old.contact_id, old.last_activity_at, old.next_task_at, old.outcome, old.currency, old.price)
    ), written AS (
        INSERT INTO team_dealsummary (account_id, deal_id, client_id, contact_id, last_activity_at, next_task_at, outcome, currency, price)
        SELECT of_account, deal_id, client_id, contact_id, last_activity_at, next_task_at, outcome, currency, price FROM differing WHERE is_found ORDER BY deal_id
        ON CONFLICT (account_id, deal_id) DO UPDATE SET client_id = EXCLUDED.client_id, contact_id = EXCLUDED.contact_id, last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at, outcome = EXCLUDED.outcome, currency = EXCLUDED.currency, price = EXCLUDED.price
    ), erased AS (
        DELETE FROM team_dealsummary WHERE account_id = of_account AND deal_id = ANY (ARRAY(SELECT deal_id FROM differing WHERE NOT is_found))
    ), revenue AS (
            INSERT INTO team_clientrevenue AS total
                (account_id, client_id, currency, open_deals, open_sum, won_deals, won_sum)
            SELECT of_account, * FROM (
                SELECT client_id, currency,
                    coalesce(sum(sign) FILTER (WHERE outcome = 'open'), 0) AS open_deals,
                    coalesce(sum(sign * price) FILTER (WHERE outcome = 'open'), 0) AS open_sum,
                    coalesce(sum(sign) FILTER (WHERE outcome = 'won'), 0) AS won_deals,
                    coalesce(sum(sign * price) FILTER (WHERE outcome = 'won'), 0) AS won_sum
                FROM (
                    SELECT client_id, currency, outcome, price, 1 AS sign FROM differing
                    UNION ALL
                    SELECT old_client_id, old_currency, old_outcome, old_price, -1 FROM differing
                ) AS counted
                WHERE client_id IS NOT NULL AND outcome IN ('open', 'won')
                GROUP BY client_id, currency
            ) AS change
            WHERE (open_deals, open_sum, won_deals, won_sum) <> (0, 0, 0, 0)
            ORDER BY client_id, currency
            ON CONFLICT (account_id, client_id, currency) DO UPDATE SET
                open_deals = total.open_deals + EXCLUDED.open_deals, open_sum = total.open_sum + EXCLUDED.open_sum,
                won_deals = total.won_deals + EXCLUDED.won_deals, won_sum = total.won_sum + EXCLUDED.won_sum
        )
        SELECT array_agg(contact_id) || array_agg(old_contact_id), array_agg(client_id) || array_agg(old_client_id)
        INTO linked_contacts, linked_clients FROM differing;
        contacts := ARRAY(SELECT DISTINCT id FROM unnest(contacts || linked_contacts) AS id WHERE id IS NOT NULL);
        clients := ARRAY(SELECT DISTINCT id FROM unnest(clients || linked_clients) AS id WHERE id IS NOT NULL);
        DELETE FROM team_clientrevenue
        WHERE account_id = of_account AND client_id = ANY (linked_clients) AND open_deals = 0 AND won_deals = 0;
    END IF;
    IF cardinality(contacts) > 0 THEN
        PERFORM FROM team_contactsummary
            WHERE account_id = of_account AND contact_id = ANY (contacts) ORDER BY contact_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.client_id AS old_client_id, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at FROM team_current_contacts(of_account, contacts) AS new
        LEFT JOIN LATERAL (SELECT * FROM team_contactsummary WHERE account_id = of_account AND contact_id = new.contact_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.contact_id IS NULL OR (new.client_id, new.last_activity_at, new.next_task_at) IS DISTINCT FROM (old.client_id, old.last_activity_at, old.next_task_at)
    ), written AS (
        INSERT INTO team_contactsummary (account_id, contact_id, client_id, last_activity_at, next_task_at)
        SELECT of_account, contact_id, client_id, last_activity_at, next_task_at FROM differing WHERE is_found ORDER BY contact_id
        ON CONFLICT (account_id, contact_id) DO UPDATE SET client_id = EXCLUDED.client_id, last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at
    ), erased AS (
        DELETE FROM team_contactsummary WHERE account_id = of_account AND contact_id = ANY (ARRAY(SELECT contact_id FROM differing WHERE NOT is_found))
    )
        SELECT array_agg(client_id) || array_agg(old_client_id) INTO linked_clients FROM differing;
        clients := ARRAY(SELECT DISTINCT id FROM unnest(clients || linked_clients) AS id WHERE id IS NOT NULL);
    END IF;
    IF cardinality(clients) > 0 THEN
        PERFORM FROM team_clientsummary
            WHERE account_id = of_account AND client_id = ANY (clients) ORDER BY client_id FOR NO KEY UPDATE;
        WITH 
    differing AS MATERIALIZED (
        SELECT new.*, old.last_activity_at AS old_last_activity_at, old.next_task_at AS old_next_task_at, old.open_sum AS old_open_sum, old.won_sum AS old_won_sum FROM team_current_clients(of_account, clients) AS new
        LEFT JOIN LATERAL (SELECT * FROM team_clientsummary WHERE account_id = of_account AND client_id = new.client_id OFFSET 0) AS old ON true
        WHERE NOT new.is_found OR old.client_id IS NULL OR (new.last_activity_at, new.next_task_at, new.open_sum, new.won_sum) IS DISTINCT FROM (old.last_activity_at, old.next_task_at, old.open_sum, old.won_sum)
    ), written AS (
        INSERT INTO team_clientsummary (account_id, client_id, last_activity_at, next_task_at, open_sum, won_sum)
        SELECT of_account, client_id, last_activity_at, next_task_at, open_sum, won_sum FROM differing WHERE is_found ORDER BY client_id
        ON CONFLICT (account_id, client_id) DO UPDATE SET last_activity_at = EXCLUDED.last_activity_at, next_task_at = EXCLUDED.next_task_at, open_sum = EXCLUDED.open_sum, won_sum = EXCLUDED.won_sum
    ), erased AS (
        DELETE FROM team_clientsummary WHERE account_id = of_account AND client_id = ANY (ARRAY(SELECT client_id FROM differing WHERE NOT is_found))
    )
        SELECT count(*) INTO number_of_clients FROM differing;
    END IF;
    RETURN number_of_clients;
END $$;

-- Generated columns, storage and statistics

ALTER TABLE ONLY public.team_bulkchange ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_bulkchangerow ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_calendarfeed ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_clientrevenue ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.team_clientsummary SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_clientsummary ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.team_contactsummary SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_contactsummary ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.team_dealsummary SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_dealsummary ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_merge ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_mergedrow ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_message ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_messagerecipient ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_postbacker ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_postrevenue ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.team_revenuechange SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.team_revenuechange ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.team_savedview ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.team_timelineentry SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.team_timelineentry ALTER COLUMN account_id SET (n_distinct=2);

-- Foreign keys

-- A forum whose segment is deleted has none.
ALTER TABLE ONLY public.forum_forum ADD CONSTRAINT forum_forum_segment_id_fk FOREIGN KEY (account_id, segment_id) REFERENCES public.team_savedview(account_id, id) ON DELETE SET NULL (segment_id);
ALTER TABLE ONLY public.team_bulkchange ADD CONSTRAINT team_bulkchange_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.team_bulkchange ADD CONSTRAINT team_bulkchange_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.team_bulkchangerow ADD CONSTRAINT team_bulkchangerow_batch_id_fk FOREIGN KEY (account_id, batch_id) REFERENCES public.team_bulkchange(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_calendarfeed ADD CONSTRAINT team_calendarfeed_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_merge ADD CONSTRAINT team_merge_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_merge ADD CONSTRAINT team_merge_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_merge ADD CONSTRAINT team_merge_merged_client_id_fk FOREIGN KEY (account_id, merged_client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_merge ADD CONSTRAINT team_merge_merged_contact_id_fk FOREIGN KEY (account_id, merged_contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_merge ADD CONSTRAINT team_merge_undone_by_id_fk FOREIGN KEY (account_id, undone_by_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.team_merge ADD CONSTRAINT team_merge_user_id_fk FOREIGN KEY (account_id, user_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.team_mergedrow ADD CONSTRAINT team_mergedrow_merge_id_fk FOREIGN KEY (account_id, merge_id) REFERENCES public.team_merge(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_message ADD CONSTRAINT team_message_author_id_fk FOREIGN KEY (account_id, author_id) REFERENCES public.accounts_user(account_id, id);
ALTER TABLE ONLY public.team_message ADD CONSTRAINT team_message_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_messagerecipient ADD CONSTRAINT team_messagerecipient_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_messagerecipient ADD CONSTRAINT team_messagerecipient_contact_id_fk FOREIGN KEY (account_id, contact_id) REFERENCES public.crm_contact(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_messagerecipient ADD CONSTRAINT team_messagerecipient_message_id_fk FOREIGN KEY (account_id, message_id) REFERENCES public.team_message(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_postbacker ADD CONSTRAINT team_postbacker_client_id_fk FOREIGN KEY (account_id, client_id) REFERENCES public.crm_client(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_postbacker ADD CONSTRAINT team_postbacker_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_postrevenue ADD CONSTRAINT team_postrevenue_forum_id_fk FOREIGN KEY (account_id, forum_id) REFERENCES public.forum_forum(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_postrevenue ADD CONSTRAINT team_postrevenue_post_id_fk FOREIGN KEY (account_id, post_id) REFERENCES public.forum_post(account_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.team_savedview ADD CONSTRAINT team_savedview_owner_id_fk FOREIGN KEY (account_id, owner_id) REFERENCES public.accounts_user(account_id, id) ON DELETE CASCADE;

-- Triggers

CREATE CONSTRAINT TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON public.team_message DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.core_record_change('message', '', 'post_id', 'author_id', 'subject', 'text', 'among', 'include_not_asked', 'state');
CREATE TRIGGER take_id BEFORE INSERT ON public.team_bulkchange FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.team_calendarfeed FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.team_merge FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.team_message FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
CREATE TRIGGER take_id BEFORE INSERT ON public.team_savedview FOR EACH ROW WHEN ((new.id IS NULL)) EXECUTE FUNCTION account_ids.take();
