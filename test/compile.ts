/** Compiles texts that use the packages' sources, by the TypeScript that most projects are on. */
import { join } from 'node:path'
import ts from 'typescript-5.9'

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2024,
  lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  customConditions: ['@taskstream/source'],
}

const parsed = new Map<string, ts.SourceFile | undefined>()

/** What the compiler says of a text: each message as its lines. */
export type Messages = readonly (readonly string[])[]

/** Compiles texts together, as files beside this one. @returns the messages for each text, and how many types were made for all */
export function compile(texts: readonly string[]): { messages: Messages[]; instantiations: number } {
  const files = new Map(texts.map((text, index) => [join(import.meta.dirname, `compiled-${index}.ts`), text]))
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (path) => files.has(path) || fileExists(path)
  host.getSourceFile = (path, ...rest) => {
    const text = files.get(path)
    if (text !== undefined) return ts.createSourceFile(path, text, rest[0])
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, ...rest))
    return parsed.get(path)
  }
  const program = ts.createProgram([...files.keys()], options, host)
  const messages = [...files.keys()].map((path) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')),
  )
  return { messages, instantiations: program.getInstantiationCount() }
}
