/** Reads the statements of docs/guides/grants.md, so that the suite runs with exactly the rights that users copy. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const guide = join(import.meta.dirname, '..', '..', 'docs', 'guides', 'grants.md')

/** The names that the guide uses, mapped to their replacements. */
export type Names = Readonly<
  Partial<Record<'app' | 'taskstream_owner' | 'taskstream_worker' | 'taskstream_producer' | 'taskstream_reader', string>>
>

/**
 * Returns the statements of one block, with replaced names.
 *
 * @throws Error if the guide has no such block
 */
export function grantsOf(block: string, names: Names): readonly string[] {
  const [, after] = readFileSync(guide, 'utf8').split(`<!-- ${block} -->\n\`\`\`sql\n`)
  if (after === undefined) throw new Error(`docs/guides/grants.md has no statements for "${block}"`)
  const text = (after.split('```')[0] ?? '').replaceAll(
    /\b(?:app|taskstream_\w+)\b/g,
    (name) => names[name as keyof Names] ?? name,
  )
  return text
    .split(/;\s*/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}
