import type { Row } from '../../core/verb.ts'

const ownName = /^[a-z_]+$/

/** A library may have been told to turn the columns' `max_tries` into `maxTries`, `MaxTries` or `max-tries`: as they are in the statement. */
export function withOwnNames(rows: readonly Row[]): readonly Row[] {
  return Object.keys(rows[0] ?? {}).every((name) => ownName.test(name)) ? rows : rows.map(renamed)
}

function renamed(row: Row): Row {
  const rename = (name: string): string =>
    name.replaceAll('-', '_').replaceAll(/[A-Z]/g, (letter, at) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [rename(name), value]))
}
