-- A recording as schema version 1 wrote it. It stays as it is, for as long as it must open.
PRAGMA application_id = 1735552100;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE cell_set_members (
    cell_set INTEGER NOT NULL REFERENCES cell_sets, cell INTEGER NOT NULL REFERENCES cells,
    PRIMARY KEY (cell_set, cell)
) WITHOUT ROWID;
INSERT INTO "cell_set_members" VALUES(1,1);
INSERT INTO "cell_set_members" VALUES(1,2);
CREATE TABLE cell_sets (id INTEGER PRIMARY KEY, size INTEGER NOT NULL);
INSERT INTO "cell_sets" VALUES(1,2);
INSERT INTO "cell_sets" VALUES(2,0);
CREATE TABLE cells (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO "cells" VALUES(1,'net.0.bias');
INSERT INTO "cells" VALUES(2,'net.0.weight');
CREATE TABLE facts (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, place INTEGER NOT NULL REFERENCES places,
    payload TEXT NOT NULL
);
INSERT INTO "facts" VALUES(1,'Own',1,'{"optimizer":"AdamW","cells":1}');
INSERT INTO "facts" VALUES(2,'Clear',2,'{"cells":1,"to_none":true}');
INSERT INTO "facts" VALUES(3,'Backward',4,'{"cells":1,"weight":{"reduction":"mean","divisor":4.0,"items":32,"framework_divides":false,"divided_at":5},"scaler":null,"non_finite":2,"partial":false,"local":false,"retain_graph":false,"walks":[]}');
INSERT INTO "facts" VALUES(4,'Step',6,'{"optimizer":"AdamW","cells":1,"scaler":null,"moved":2,"non_finite":2,"vanished":2}');
INSERT INTO "facts" VALUES(5,'RunEnd',7,'{"crashed":false}');
CREATE TABLE findings (
    id INTEGER PRIMARY KEY, rule TEXT NOT NULL, place INTEGER NOT NULL REFERENCES places,
    detail TEXT NOT NULL, certainty TEXT NOT NULL, evidence TEXT NOT NULL,
    cells INTEGER NOT NULL REFERENCES cell_sets, count INTEGER NOT NULL,
    first_event INTEGER NOT NULL, last_event INTEGER NOT NULL
);
INSERT INTO "findings" VALUES(1,'GL101',6,'step 2 spends 2 deposits; the first was spent by step 1','observed','[{"what":"deposited","at":4,"note":"in iteration 1"},{"what":"spent","at":6,"note":""}]',1,1,6,6);
CREATE TABLE measures (
    step INTEGER NOT NULL, series INTEGER NOT NULL REFERENCES series, value REAL,
    event INTEGER NOT NULL,
    PRIMARY KEY (step, series)
) WITHOUT ROWID;
INSERT INTO "measures" VALUES(1,1,0.5,4);
INSERT INTO "measures" VALUES(2,1,0.75,6);
CREATE TABLE moments (
    number INTEGER PRIMARY KEY, ns INTEGER NOT NULL, fact INTEGER NOT NULL REFERENCES facts
);
INSERT INTO "moments" VALUES(1,5859238,1);
INSERT INTO "moments" VALUES(2,5862334,2);
INSERT INTO "moments" VALUES(3,5863606,3);
INSERT INTO "moments" VALUES(4,5864508,4);
INSERT INTO "moments" VALUES(5,5880809,3);
INSERT INTO "moments" VALUES(6,5881991,4);
INSERT INTO "moments" VALUES(7,5918419,5);
CREATE TABLE places (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, line INTEGER NOT NULL, "column" INTEGER NOT NULL,
    via INTEGER REFERENCES places
);
INSERT INTO "places" VALUES(1,'train.py',5,0,NULL);
INSERT INTO "places" VALUES(2,'train.py',10,4,NULL);
INSERT INTO "places" VALUES(3,'train.py',11,4,NULL);
INSERT INTO "places" VALUES(4,'train.py',20,8,3);
INSERT INTO "places" VALUES(5,'train.py',19,8,NULL);
INSERT INTO "places" VALUES(6,'train.py',12,4,NULL);
INSERT INTO "places" VALUES(7,'train.py',30,0,NULL);
CREATE TABLE run (
    script TEXT NOT NULL, argv TEXT NOT NULL, versions TEXT NOT NULL,
    rank INTEGER NOT NULL, world_size INTEGER NOT NULL, launch TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_ns INTEGER, lost INTEGER NOT NULL
);
INSERT INTO "run" VALUES('train.py','["--epochs", "3"]','{"python": "3.11.7", "torch": "2.13.0", "gradledger": "0.1.0"}',0,1,'','2026-01-02T03:04:05+00:00',5922366,0);
CREATE TABLE series (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, optimizer TEXT NOT NULL, cell TEXT NOT NULL
);
INSERT INTO "series" VALUES(1,'gradient norm','AdamW','');
CREATE TABLE sources (path TEXT PRIMARY KEY, text TEXT NOT NULL);
INSERT INTO "sources" VALUES('train.py','import torch
');
CREATE VIEW events AS
    SELECT m.number, m.ns, f.kind, f.place, p.path, p.line, f.payload
    FROM moments AS m JOIN facts AS f ON f.id = m.fact JOIN places AS p ON p.id = f.place;
COMMIT;
