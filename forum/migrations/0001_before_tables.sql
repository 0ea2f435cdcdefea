-- A half-life is 7 days (forum.trending.HALF_LIFE).
CREATE FUNCTION public.forum_half_lives(moment timestamp with time zone) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT date_part('epoch', moment - to_timestamp(0)) / 604800.0
$$;

-- power() fails for results that are too small for a double. Differences are therefore limited to 60 half-lives: at that difference, the
-- smaller weight no longer changes a digit of the sum.
CREATE FUNCTION public.forum_log2_add(a double precision, b double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a
        ELSE greatest(a, b) + ln(1 + power(2::double precision, greatest(-abs(a - b), -60))) / ln(2::double precision) END
$$;

CREATE FUNCTION public.forum_trending(created_at timestamp with time zone, vote_weight double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT public.forum_log2_add(public.forum_half_lives(created_at), vote_weight)
$$;

CREATE AGGREGATE public.forum_log2_sum(double precision) (
    SFUNC = public.forum_log2_add,
    STYPE = double precision
);

CREATE SEQUENCE public.forum_votechange_numbers;
