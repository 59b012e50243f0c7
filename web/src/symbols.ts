// One sign for each thing that happens, the same on the timeline and in its legend.

import type { Kind } from "./data";
import type { Colours } from "./theme";

interface Sign {
  /** Drawn in a box of 16 by 16. */
  path: string;
  hollow?: boolean;
  colour: keyof Colours;
  says: string;
}

export const SIGNS: Record<Kind, Sign> = {
  deposit: { path: "M2 3h12l-6 11z", colour: "ink", says: "deposit: a backward pass" },
  edit: { path: "M3 13l1-4 7-7 3 3-7 7z", colour: "soft", says: "changed by hand" },
  unscale: { path: "M3 8h10M9 4l4 4-4 4M3 3v10", hollow: true, colour: "soft", says: "unscaled" },
  clip: { path: "M2 4h12M2 12h12M5 8h6", hollow: true, colour: "soft", says: "clipped" },
  norm: { path: "M5 2v12M11 2v12", hollow: true, colour: "soft", says: "norm taken" },
  spend: { path: "M2 2h12v12h-12z", colour: "spent", says: "spend: a step" },
  skip: { path: "M3 3h10v10h-10zM3 13l10-10", hollow: true, colour: "skipped", says: "step skipped" },
  clear: { path: "M8 2.5a5.5 5.5 0 1 0 .01 0z", hollow: true, colour: "cleared", says: "cleared" },
  update: { path: "M3 8a5 5 0 0 1 9-3M13 8a5 5 0 0 1-9 3M12 1v4h-4M4 15v-4h4", hollow: true, colour: "soft", says: "scaler updated" },
  schedule: { path: "M8 2v12M8 8h5M2 14h12", hollow: true, colour: "soft", says: "scheduler moved on" },
  sync: { path: "M2 6h11l-3-3M14 10h-11l3 3", hollow: true, colour: "soft", says: "averaged between ranks" },
  fault: { path: "M3 3l10 10M13 3l-10 10", hollow: true, colour: "fault", says: "exception" },
  epoch: { path: "M8 0v4M8 6v4M8 12v4", hollow: true, colour: "soft", says: "end of an epoch" },
  end: { path: "M6 1v14M10 1v14", hollow: true, colour: "soft", says: "end of the run" },
};
