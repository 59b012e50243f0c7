// The editor: Python, findings in the margin, and the line that the player is at.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Edit } from "./protocol";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--md-code-hl-keyword-color)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--md-code-hl-string-color)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--md-code-hl-number-color)" },
  { tag: [tags.comment], color: "var(--md-code-hl-comment-color)" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--md-code-hl-function-color)" },
]);

const playedAt = StateEffect.define<{ line: number; faulty: boolean } | null>();
const played = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let found = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(playedAt)) continue;
      const { doc } = transaction.state;
      const at = effect.value;
      const name = at?.faulty ? "pg-played pg-played-bad" : "pg-played";
      found = at && at.line <= doc.lines ? Decoration.set([Decoration.line({ class: name }).range(doc.line(at.line).from)]) : Decoration.none;
    }
    return found;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export class Editor {
  readonly view: EditorView;

  constructor(parent: HTMLElement, changed: (text: string) => void) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          indentUnit.of("    "),
          bracketMatching(),
          python(),
          syntaxHighlighting(colours),
          lintGutter(),
          played,
          keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": "Python code", spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed(this.text);
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
  }

  show(diagnostics: Diagnostic[]): void {
    const most = this.view.state.doc.length;
    const inside = diagnostics.filter((one) => one.from <= most).map((one) => ({ ...one, to: Math.min(one.to, most) }));
    this.view.dispatch(setDiagnostics(this.view.state, inside));
  }

  goTo(line: number): void {
    const { doc } = this.view.state;
    const { from } = doc.line(Math.max(1, Math.min(line, doc.lines)));
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }

  play(line: number | null, faulty: boolean): void {
    this.view.dispatch({ effects: playedAt.of(line === null ? null : { line, faulty }) });
  }

  apply(edits: Edit[]): void {
    const { doc } = this.view.state;
    const start = (line: number): number => (line <= doc.lines ? doc.line(line).from : doc.length);
    const changes = edits.map((edit) => ({ from: start(edit.line), to: start(edit.end), insert: edit.text }));
    this.view.dispatch({ changes, userEvent: "input.fix" });
    const first = edits[0];
    if (first) this.goTo(first.line);
  }
}
