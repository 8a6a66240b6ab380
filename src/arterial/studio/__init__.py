"""The studio: a page in the browser that shows a network that runs, one that ran, or one that is drawn (Aurora §2.3).

`server.py` starts it and is where to begin; `app.py` has the addresses, `channels.py` what is live, `subject.py` what
is shown, `guard.py` who may ask. The page is built from the folder `studio` at the root of the project into `page`.
Everything about a run is read by the code that `arterial status`, `tap` and `attach` use; a run never waits for it.
"""
