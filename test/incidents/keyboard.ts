/** What somebody does who has a keyboard and no mouse. */
export interface Keyboard {
  /** Presses keys, one after the other. */
  press(...keys: readonly string[]): Promise<void>
  /** Types into the field that has the focus. */
  type(text: string): Promise<void>
  /** Presses Tab until something of this name has the focus. @throws Error if nothing has it */
  tabTo(name: RegExp): Promise<void>
  /** Waits until the page shows it. */
  sees(text: RegExp): Promise<void>
  /** Waits until a page of this path is there. */
  isAt(path: RegExp): Promise<void>
}

/** How an incident is found in the console, and mended, by keyboard alone: it begins at the first page. */
export interface KeyboardStory {
  /** To the page that shows what is wrong. */
  readonly leads: (keys: Keyboard) => Promise<void>
  /** From there. Absent if no page can mend it: a process has to be started or ended, or a statement run. */
  readonly mends?: (keys: Keyboard) => Promise<void>
}

/** Finds a task, and opens its page. */
export async function findTask(keys: Keyboard, name: string): Promise<void> {
  await keys.press('/')
  await keys.type(name)
  await keys.press('Enter')
  await keys.isAt(/\/find$/)
  await openFirst(keys, /\/tasks\/\d+$/)
}

/** Goes to one of the pages in the head of each. */
export async function goTo(keys: Keyboard, key: string, path: RegExp): Promise<void> {
  await keys.press('g', key)
  await keys.isAt(path)
}

/** Opens the first row of a list. */
export async function openFirst(keys: Keyboard, path: RegExp): Promise<void> {
  await keys.press('j', 'Enter')
  await keys.isAt(path)
}

/** Presses a button that is reached by Tab. */
export async function pressButton(keys: Keyboard, name: RegExp, path: RegExp): Promise<void> {
  await keys.tabTo(name)
  await keys.press('Enter')
  await keys.isAt(path)
}
