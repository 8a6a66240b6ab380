-- Linear Road as tables and two procedures: `on_minute` when a minute begins, `on_second` when a second's events are in
-- `arrived`. Unlogged tables, as the paper's System X had no log either.

drop schema if exists linear_road cascade;
create schema linear_road;
set search_path = linear_road;

create unlogged table arrived (
    type int, time int, vid int, speed int, xway int, lane int, dir int, seg int, pos int,
    qid int, sinit int, send int, dow int, tod int, day int
);
create unlogged table came (
    vid int, time int, xway int, dir int, lane int, seg int, pos int, run int,
    entered boolean, charge int, quote int, lav int, accident int
);
create unlogged table speeds (xway int, dir int, seg int, vid int, speed int);
create unlogged table minutes (minute int, xway int, dir int, seg int, speeds bigint, cars int);
create unlogged table stopped (vid int, time int, xway int, dir int, lane int, pos int);
create unlogged table accidents (minute int, xway int, dir int, seg int);
create unlogged table accounts (vid int primary key, balance int, since int) with (fillfactor = 50);
create unlogged table tolls (xway int, dir int, seg int, lav int, toll int, accident int);
create unlogged table history (vid int, day int, xway int, tolls int);

-- Rule 8: the predecessor is the report of the same vehicle, expressway and direction exactly 30 s before. So of each
-- vehicle only the latest batch of the same phase matters: `came` of that second, in a table for each of 30 phases.
do $$ begin
    for phase in 0..29 loop
        execute format('create unlogged table phase_%s as select vid, time, xway, dir, lane, seg, pos, run, quote from came', phase);
    end loop;
end $$;

create procedure on_minute(now int) language plpgsql as $$
begin
    -- Rule 1: the mean of each vehicle's speeds, then of the vehicles. Means times 60 are whole, since a vehicle reports
    -- from a segment at most twice a minute, so that sums are exact.
    insert into minutes
    select now - 1, xway, dir, seg, sum(speed), count(*)
    from (select xway, dir, seg, vid, sum(speed) * 60 / count(*) as speed from speeds group by xway, dir, seg, vid) vehicle
    group by xway, dir, seg;
    truncate speeds;
    delete from minutes where minute < now - 5;
    delete from accidents where minute < now - 1;

    -- Rules 1 to 6, 11 and 13, for every segment that has statistics or an accident ahead.
    truncate tolls;
    insert into tolls
    with means as (
        select xway, dir, seg,
            floor(avg(m.speeds / (60.0::float8 * cars)) + 1e-9)::int as lav,
            coalesce(max(cars) filter (where minute = now - 1), 0) as cars
        from minutes m group by xway, dir, seg
    ), warned as (
        select distinct on (xway, dir, upstream) xway, dir, upstream as seg, seg as accident
        from (
            select xway, dir, seg, i, seg - (case dir when 0 then i else -i end) as upstream
            from accidents, generate_series(0, 4) i where minute = now - 1
        ) reached
        order by xway, dir, upstream, i
    )
    select coalesce(m.xway, w.xway), coalesce(m.dir, w.dir), coalesce(m.seg, w.seg), coalesce(m.lav, -1),
        case when m.lav < 40 and m.cars > 50 and w.seg is null then 2 * (m.cars - 50) * (m.cars - 50) else 0 end,
        w.accident
    from means m full join warned w on m.xway = w.xway and m.dir = w.dir and m.seg = w.seg;
    analyze tolls;
end $$;

create procedure on_second(now int) language plpgsql as $$
begin
    truncate came;
    execute format(
        'insert into came
        select r.vid, r.time, r.xway, r.dir, r.lane, r.seg, r.pos,
            case when p.lane = r.lane and p.pos = r.pos then p.run + 1 else 1 end,
            p.vid is null or p.seg <> r.seg,
            case when p.seg <> r.seg then p.quote else 0 end,
            case when p.seg = r.seg then p.quote when r.lane = 4 then 0 else coalesce(t.toll, 0) end,
            coalesce(t.lav, -1),
            t.accident
        from arrived r
        left join phase_%1$s p on p.vid = r.vid and p.xway = r.xway and p.dir = r.dir and p.time = $1 - 30
        left join tolls t on t.xway = r.xway and t.dir = r.dir and t.seg = r.seg
        where r.type = 0', now % 30) using now;
    execute format('truncate phase_%s', now % 30);
    execute format('insert into phase_%s select vid, time, xway, dir, lane, seg, pos, run, quote from came', now % 30);
    insert into speeds select xway, dir, seg, vid, speed from arrived where type = 0;

    -- Rules 9, 10 and 12: stopped by four reports from one place, until 30 s after the last; two in a place are an
    -- accident.
    delete from stopped where time <= now - 30;
    insert into stopped select vid, time, xway, dir, lane, pos from came where run >= 4 and lane between 1 and 3;
    insert into accidents
    select now / 60 + 1, xway, dir, pos / 5280 from stopped group by xway, dir, lane, pos having count(distinct vid) > 1
    except select minute, xway, dir, seg from accidents;

    -- Rule 16: the toll quoted on entering a segment is charged when the report from the next one arrives.
    insert into accounts select vid, sum(charge), now from came where charge > 0 group by vid
    on conflict (vid) do update set balance = accounts.balance + excluded.balance, since = excluded.since;
end $$;
