import type { Step } from './step.ts'

/** Returns a Mermaid flowchart of the steps and of the contexts after them. The same steps give the same text. */
export function toMermaid(steps: readonly Step[], contexts: readonly string[]): string {
  const names = new Map(steps.map(({ id }, index) => [id, `step${index + 1}`]))
  const last = steps.filter(({ id }) => !steps.some(({ after }) => after.includes(id)))
  return [
    'flowchart TD',
    ...steps.map(({ id, kind }) => `  ${names.get(id)}${kind === 'each' ? `(${label(id)})` : `[[${label(id)}]]`}`),
    ...contexts.map((name, index) => `  context${index + 1}[(${label(name)})]`),
    ...steps.flatMap(({ id, after }) => after.map((awaited) => `  ${names.get(awaited)} --> ${names.get(id)}`)),
    ...(contexts.length > 0 ? last.map(({ id }) => `  ${names.get(id)} --> context1`) : []),
    ...contexts.slice(1).map((_, index) => `  context${index + 1} --> context${index + 2}`),
    '',
  ].join('\n')
}

/** Mermaid interprets quotes, HTML and Markdown in a label, so characters that are not part of a word are written as their code points. */
function label(name: string): string {
  const escaped = name.replaceAll(
    /(?<![\p{L}\p{N}])[-.:/_]|[-.:/_](?![\p{L}\p{N}])|[^\p{L}\p{N}\p{M}_ .:/-]/gu,
    (character) => `#${character.codePointAt(0)};`,
  )
  return `"${escaped}"`
}
