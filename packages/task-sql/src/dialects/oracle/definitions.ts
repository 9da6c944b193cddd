/** Definitions that may be run again. */
import { raw } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

/** Runs a definition unless its name exists already. A migration may run it twice, as definitions commit, and 19c has no `if not exists`. */
export function unlessThere(definition: Statement): Statement {
  // ORA-00955: name is already used by an existing object.
  return passing(definition, -955)
}

/** Adds columns to a table unless it has them already. */
export function unlessAdded(definition: Statement): Statement {
  // ORA-01430: column being added already exists in table.
  return passing(definition, -1430)
}

function passing(definition: Statement, code: number): Statement {
  const text = (definition.texts[0] ?? '').trim().replaceAll("'", "''")
  return raw(`begin
  execute immediate '${text}';
exception
  when others then
    if sqlcode <> ${code} then
      raise;
    end if;
end;`)
}

/** The name of an index, in the schema of its table. */
export function indexName(task: Statement, name: string): Statement {
  return raw((task.texts[0] ?? '').replace(/task$/, name))
}
