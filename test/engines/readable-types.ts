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
  /** `text[]`. */
  1009,
])

/** For a client or a pool of pg: a statement that answers with a value of another type is refused. */
export const readableTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text') => {
    if (readable.has(oid)) return pg.types.getTypeParser(oid, format) as unknown
    // Thrown here, it would end no query: pg catches what the parser of a value throws.
    return () => {
      throw new Error(`The statement answers with the type ${oid}, which Prisma cannot read`)
    }
  }) as pg.CustomTypesConfig['getTypeParser'],
}
