/** Which functions of the packages are entered, in their order: sources are loaded with a note at the beginning of each function. */
import { registerHooks } from 'node:module'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-5.9'

declare global {
  var __entered: ((place: string) => void) | undefined
}

/** A function as it was entered: `task-sql/src/verbs/push.ts`, `push:31`. */
export interface Entry {
  readonly file: string
  readonly name: string
}

const packages = join(import.meta.dirname, '..', '..', 'packages') + sep
let entries: Entry[] | undefined

/** From now on sources of the packages are loaded with their notes; those of task-testing only test. */
export function traceSources(): void {
  globalThis.__entered = (place) => {
    const [file, name] = place.split('#') as [string, string]
    entries?.push({ file, name })
  }
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      const path = url.startsWith('file:') ? fileURLToPath(url) : ''
      if (!path.startsWith(packages) || !path.endsWith('.ts') || path.includes('task-testing')) return loaded
      return { ...loaded, source: noted(path.slice(packages.length), String(loaded.source)) }
    },
  })
}

/** Begins to note what is entered. */
export function begin(): void {
  entries = []
}

/** @returns what was entered since `begin` */
export function end(): readonly Entry[] {
  const found = entries ?? []
  entries = undefined
  return found
}

/** The source with a call at the beginning of each function. A generator is entered when it is asked for its first value. */
function noted(file: string, source: string): string {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const insertions: [at: number, text: string][] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree))
      const call = `globalThis.__entered(${JSON.stringify(`${file}#${nameOf(node)}:${line + 1}`)})`
      const from = node.body.getStart(tree)
      if (ts.isBlock(node.body)) insertions.push([from + 1, `${call};`])
      else insertions.push([from, `(${call}, `], [node.body.end, ')'])
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  let text = source
  for (const [at, insertion] of insertions.toSorted(([left], [right]) => right - left))
    text = text.slice(0, at) + insertion + text.slice(at)
  return text
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  const named =
    node.name ?? (ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent) ? node.parent.name : undefined)
  return named?.getText() ?? '=>'
}
