/** Ends this process as a crash of its machine would. */
export function die(): never {
  process.kill(process.pid, 'SIGKILL')
  // The process must run no further statement before it dies.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  throw new Error('A killed process goes on')
}
