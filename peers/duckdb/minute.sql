-- What is done when minute $minute begins, before its first reports.

-- Rule 1: the mean of each vehicle's speeds, then of the vehicles. Means times 60 are whole, since a vehicle reports
-- from a segment at most twice a minute, so that sums are exact.
insert into minutes
select $minute - 1, xway, dir, seg, sum(speed), count(*)
from (select xway, dir, seg, vid, sum(speed) * 60 // count(*) as speed from speeds group by xway, dir, seg, vid)
group by xway, dir, seg;
truncate speeds;
delete from minutes where minute < $minute - 5;
delete from accidents where minute < $minute - 1;

-- Rules 1 to 6, 11 and 13, for every segment that has statistics or an accident ahead.
create or replace table tolls as
with means as (
    select xway, dir, seg,
        floor(avg(speeds / (60.0 * cars)) + 1e-9)::integer as lav,
        coalesce(max(cars) filter (minute = $minute - 1), 0) as cars
    from minutes group by xway, dir, seg
), warned as (
    select xway, dir, seg - (case dir when 0 then i else -i end) as seg, arg_min(seg, i) as accident
    from accidents, range(5) steps(i)
    where minute = $minute - 1
    group by xway, dir, seg - (case dir when 0 then i else -i end)
)
select coalesce(m.xway, w.xway) as xway, coalesce(m.dir, w.dir) as dir, coalesce(m.seg, w.seg) as seg,
    coalesce(m.lav, -1) as lav,
    case when m.lav < 40 and m.cars > 50 and w.seg is null then 2 * (m.cars - 50) ** 2 else 0 end::integer as toll,
    w.accident
from means m full join warned w on m.xway = w.xway and m.dir = w.dir and m.seg = w.seg;
