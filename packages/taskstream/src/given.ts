/** The options that were given, without those that are undefined. */
export function given<Options extends object>(options: Options): { [Name in keyof Options]: Exclude<Options[Name], undefined> } {
  const named = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(named) as { [Name in keyof Options]: Exclude<Options[Name], undefined> }
}
