import type { Row } from '../../core/verb.ts'

const ownName = /^[a-z_]+$/

/** Restores the names of columns. A library's settings may turn `max_tries` into `maxTries`, `MaxTries` or `max-tries`. */
export function withOwnNames(rows: readonly Row[]): readonly Row[] {
  return Object.keys(rows[0] ?? {}).every((name) => ownName.test(name)) ? rows : rows.map(renamed)
}

function renamed(row: Row): Row {
  const rename = (name: string): string =>
    name.replaceAll('-', '_').replaceAll(/[A-Z]/g, (letter, at) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [rename(name), value]))
}
