/** The entries of the engine that this process tests. */
import { isMysql, isPostgres } from '../subject.ts'
import type { Entry } from './entry.ts'
import { mariadbEntries } from './mariadb-entries.ts'
import { postgresEntries } from './postgres-entries.ts'
import { sqliteEntries } from './sqlite-entries.ts'

export const entries: readonly Entry[] = isPostgres ? postgresEntries : isMysql ? mariadbEntries : sqliteEntries
