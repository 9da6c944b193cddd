/**
 * Checks how `oracledb` reads a statement and its values, without a server. This uses an internal parser, so the version of
 * `oracledb` is pinned.
 */
import { createRequire } from 'node:module'
import oracledb from 'oracledb'
import type { Recorded } from './recording.ts'

interface Prepared {
  readonly bindInfoList: readonly { readonly bindName: string; readonly isReturnBind: boolean }[]
  readonly isQuery: boolean
  readonly isDml: boolean
  readonly isPlSql: boolean
  readonly isDdl: boolean
  _prepare(text: string): void
}

const { Statement } = createRequire(import.meta.url)('oracledb/lib/thin/statement.js') as { Statement: new () => Prepared }

/** The most bytes of a VARCHAR2 bind, unless the server was set up for more. */
const varcharBytes = 4000

/** @returns the errors in a statement's values and in its execute options */
export function bindErrors({ text, binds, options }: Recorded): string[] {
  const prepared = new Statement()
  prepared._prepare(text)
  const errors = binds.flatMap((bind, index) => valueErrors(bind).map((error) => `:${index + 1} ${error}`))
  const { bindInfoList } = prepared
  if (bindInfoList.length !== binds.length) errors.push(`${bindInfoList.length} places for ${binds.length} values`)
  if (bindInfoList.some(({ bindName, isReturnBind }, index) => bindName !== String(index + 1) || isReturnBind))
    errors.push(`places are ${bindInfoList.map(({ bindName }) => bindName).join(', ')}`)
  // The driver sends what it does not know as it is.
  const isSent = text === 'set transaction read only'
  if (!(prepared.isQuery || prepared.isDml || prepared.isPlSql || prepared.isDdl || isSent)) errors.push('is no statement')
  return [...errors, ...optionErrors(prepared, text, options)]
}

function optionErrors(
  { isQuery }: Prepared,
  text: string,
  { autoCommit, resultSet, prefetchRows, fetchArraySize }: Recorded['options'],
): string[] {
  const errors: string[] = []
  if (autoCommit !== false) errors.push('may be committed by itself')
  if (resultSet && !isQuery) errors.push('has no rows to fetch')
  if (resultSet && prefetchRows !== fetchArraySize) errors.push(`fetches ${prefetchRows} and then ${fetchArraySize} rows`)
  if (resultSet && !/for update(?: skip locked)?$/.test(text.trim()))
    errors.push('is limited by what is fetched, and locks nothing')
  return errors
}

function valueErrors(bind: unknown): string[] {
  if (bind === null) return []
  if (typeof bind === 'number') return Number.isSafeInteger(bind) ? [] : [`is ${bind}, which is no whole number below 2^53`]
  const isClob = typeof bind === 'object' && 'type' in bind && bind.type === oracledb.DB_TYPE_CLOB
  const text = isClob ? (bind as { val?: unknown }).val : bind
  if (typeof text !== 'string') return [`is ${typeof text}`]
  if (text === '') return ['is empty, and so null']
  const isLong = Buffer.byteLength(text) > varcharBytes
  if (isLong !== isClob) return [isLong ? 'is too long for a VARCHAR2 (ORA-01461)' : 'is a CLOB without need']
  return text.startsWith('[') && hasEmpty(JSON.parse(text)) ? ['has an empty text, and so null'] : []
}

function hasEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.some(hasEmpty) : value === ''
}
