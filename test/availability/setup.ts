/** A way in which a database is kept available, and what can happen to it. */
export interface Setup extends AsyncDisposable {
  /** The database, and what keeps it available, with their releases. */
  readonly name: string
  readonly access: Access
  readonly faults: readonly AvailabilityFault[]
  /** Runs a statement on the server that takes writes, past the address that applications have. */
  ask(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** How applications get at the database. */
export interface Access {
  readonly engine: 'postgres' | 'mariadb'
  /** One address, or those of all servers. */
  readonly urls: readonly string[]
  /** Where listeners connect, if not there. */
  readonly listenUrls?: readonly string[]
}

export interface AvailabilityFault {
  readonly kind: string
  /** Resolves when it has happened. @returns what is to be done when work goes on again, if anything */
  inflict(): Promise<void | Mend>
}

/** Resolves when everything is as before. @returns what an operator had to do for that, if anything */
export type Mend = () => Promise<string | void>
