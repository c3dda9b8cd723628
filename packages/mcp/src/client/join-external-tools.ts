// Several suppliers of external tools as one. A call goes to the first that lists its name now, else to the last supplier, which
// has the better answer to an unknown name: MCP servers know what they had.
import type { ExternalTools } from '@beaver/agent'

/** @param suppliers at least one */
export function joinExternalTools(suppliers: readonly [ExternalTools, ...ExternalTools[]]): ExternalTools {
  return {
    get tools() {
      return suppliers.flatMap((supplier) => supplier.tools)
    },
    onChange(listener) {
      const ends = suppliers.map((supplier) => supplier.onChange(listener))
      return () => {
        for (const end of ends) end()
      }
    },
    call(call, signal) {
      const supplier = suppliers.find(({ tools }) => tools.some(({ name }) => name === call.name)) ?? suppliers.at(-1) ?? suppliers[0]
      return supplier.call(call, signal)
    },
  }
}
