// (b) Beaver with everything on: tasks submitted over NATS to a daemon with worker threads, every event
// journaled to a nats-server that syncs each write, and this client answered with the result when the task
// has ended.
import { startBeaver } from '../beaver.ts'
import { serveArm } from './arm.ts'

await serveArm(async (baseURL) => {
  // The tool the other contenders have, and no other.
  const profile = { name: 'one-tool', tool_ids_inventory: ['system:echo'] }
  const { client, pids, stop } = await startBeaver(
    baseURL,
    { profiles: ['one-tool.json'], profile: 'one-tool' },
    { 'one-tool.json': profile },
  )
  return {
    pids,
    stop,
    loop: async () => {
      const { status, final_output } = await client.run({ task: 'Say hello with the tool.' })
      if (status !== 'completed' || final_output !== 'The tool said hello.')
        throw new Error(`the task ended ${status}: ${final_output}`)
    },
  }
})
