/** The types of columns that the drivers of PostgreSQL can all read. Prisma refuses an answer with any other: UnsupportedNativeDataType. */
import pg from 'pg'

const { builtins } = pg.types

/** What a statement may answer with, of what Prisma reads. A type that is missed here may be added if Prisma knows it. */
const readable: ReadonlySet<number> = new Set([
  builtins.BOOL,
  builtins.INT2,
  builtins.INT4,
  builtins.INT8,
  builtins.FLOAT8,
  builtins.NUMERIC,
  builtins.TEXT,
  builtins.VARCHAR,
  builtins.BPCHAR,
  builtins.JSON,
  builtins.JSONB,
  builtins.TIMESTAMP,
  builtins.TIMESTAMPTZ,
  builtins.DATE,
  builtins.OID,
  /** `name`, of the catalogue. */
  19,
])

/** For a client or a pool of pg. @throws Error for an answer with another type */
export const readableTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text') => {
    if (!readable.has(oid)) throw new Error(`The statement answers with the type ${oid}, which Prisma cannot read`)
    return pg.types.getTypeParser(oid, format) as unknown
  }) as pg.CustomTypesConfig['getTypeParser'],
}
