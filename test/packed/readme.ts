/** The README of a package, taken apart. */
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'

const packages = join(import.meta.dirname, '..', '..', 'packages')

export interface Readme {
  readonly text: string
  /** The packages that its first command installs, in the order of the command. */
  readonly installs: readonly string[]
  /** Each block of the language, in order. */
  readonly blocks: (language: string) => readonly string[]
  /** Files of the documentation that it names. */
  readonly pages: readonly string[]
}

export function readmeOf(folder: string): Readme {
  const text = readFileSync(join(packages, folder, 'README.md'), 'utf8')
  const blocks = (language: string): readonly string[] =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block)
  const [command = ''] = blocks('sh')[0]?.split('#') ?? []
  return {
    text,
    installs: command
      .trim()
      .split(/\s+/)
      .slice(2)
      .filter((word) => !word.startsWith('-')),
    blocks,
    pages: [...text.matchAll(/\bdocs\/[\w/-]+\.md/g)].map(([page]) => page),
  }
}

/** The packages that a program imports, without what comes with Node.js. */
export function importedBy(program: string): readonly string[] {
  const modules = [...program.matchAll(/^import .*?from '([^']+)'$/gm)].map(([, module = '']) => module)
  const names = modules
    .filter((module) => !isBuiltin(module))
    .map((module) => module.split('/').slice(0, module.startsWith('@') ? 2 : 1))
  return [...new Set(names.map((parts) => parts.join('/')))]
}
