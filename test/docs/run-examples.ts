// Runs modules one after the other in this process, and tells its parent how each ended and what it printed.
// The parent says which: first those that use example-context.ts, then those that start a system of their
// own, each in a folder for its data.
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'

const moduleMsMax = 60_000

let printed = ''
process.stdout.write = (text: string | Uint8Array): boolean => {
  printed += typeof text === 'string' ? text : Buffer.from(text).toString()
  return true
}

async function run(file: string): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(resolve, moduleMsMax, `It does not end within ${moduleMsMax / 1000} s.`)
  printed = ''
  const ended = import(pathToFileURL(file).href).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const fault = await Promise.race([ended, late])
  clearTimeout(timer)
  process.send?.({ file, fault, printed })
}

process.once(
  'message',
  async ({ inContext, alone }: { inContext: readonly string[]; alone: readonly string[] }) => {
    const context = await import('./example-context.ts')
    for (const file of inContext) await run(file)
    await context.close()
    for (const file of alone) {
      process.env['BEAVER_HOME'] = `.beaver-${basename(file, '.ts')}`
      await run(file)
    }
    // Now nothing keeps it.
    process.disconnect?.()
  },
)
