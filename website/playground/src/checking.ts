// Asks the worker; starts another one where that has broken down, or is told to stop.

import type { Answer } from "./protocol";

export class Checking {
  private worker: Worker | null = null;
  private id = 0;
  private asked = "";

  constructor(
    private readonly address: URL,
    private readonly hear: (answer: Answer, text: string) => void,
  ) {
    this.start();
  }

  /** Checks a text. Of several at once, the last is checked. */
  ask(text: string): void {
    this.id += 1;
    this.asked = text;
    this.worker?.postMessage({ id: this.id, text });
  }

  /** Gives up what is being checked. */
  restart(): void {
    this.worker?.terminate();
    this.id += 1; // whatever it still says is not for us
    this.start();
  }

  private start(): void {
    const worker = new Worker(this.address, { type: "module" });
    this.worker = worker;
    worker.onmessage = (event: MessageEvent<Answer>) => {
      const answer = event.data;
      if (worker !== this.worker) return;
      if (!("id" in answer) || answer.id === this.id || answer.id === -1) this.hear(answer, this.asked);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.worker) this.hear({ kind: "failed", id: -1, why: event.message || "it can't be loaded" }, this.asked);
    };
  }
}
