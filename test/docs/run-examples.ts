// Runs the modules of examples one after the other in this process, and tells its parent how each ended.
// Arguments: `context`, if the examples use example-context.ts, or `alone`; then the files.
import { pathToFileURL } from 'node:url'

const exampleMsMax = 60_000
const [, , mode, ...files] = process.argv
const context = mode === 'context' ? await import('./example-context.ts') : null

for (const file of files) {
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(resolve, exampleMsMax, `It does not end within ${exampleMsMax / 1000} s.`)
  const run = import(pathToFileURL(file).href).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const fault = await Promise.race([run, late])
  clearTimeout(timer)
  process.send?.({ file, fault })
}
await context?.close()
process.disconnect?.()
