# What is said of schedules.

schedule-made = Noted as `{ $id }` (`{ $when }`). It runs next: { $next }.
schedule-goes-to = Its answers go to `{ $place }`.
schedule-to = to `{ $place }`
schedule-in-utc = The time is told in UTC; write `zone Europe/Berlin` before `say` for another zone.
schedule-listed = Your schedules:
schedule-none = You have no schedules.
schedule-how =
    `/schedule add every weekday at 8:00 zone Europe/Berlin say WHAT` makes one; before `say` there is room for `to PLACE`, `name "TEXT"` and `missed skip`.
    `/schedule pause ID`, `resume ID`, `remove ID` and `run ID` change it.
schedule-next = next: { $next }
schedule-rests = paused
schedule-rests-why = paused: { $reason }
schedule-over = over
schedule-left-out = left out: { $n }
schedule-last = last run: `{ $reference }`
schedule-paused = `{ $id }` is paused; `/schedule resume { $id }` lets it go on.
schedule-resumed = `{ $id }` goes on. It runs next: { $next }.
schedule-removed = `{ $id }` is removed.
schedule-runs = `{ $id }` runs now, as `{ $reference }`.
schedule-unknown = You have no schedule `{ $id }`; `/schedule` lists those that you have.
schedule-head = Scheduled by { $who }: { $title }
schedule-rests-now = This schedule is paused now: it was not allowed several times in a row. `/schedule resume { $id }` lets it go on.
schedule-day-1 = Mon
schedule-day-2 = Tue
schedule-day-3 = Wed
schedule-day-4 = Thu
schedule-day-5 = Fri
schedule-day-6 = Sat
schedule-day-7 = Sun
builtin-schedule = run something when it is time: /schedule add WHEN say WHAT; alone, your schedules
