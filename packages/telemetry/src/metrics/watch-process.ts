// What Node.js and the system say about this process, under the names that dashboards for Node.js know.
import { readdirSync } from 'node:fs'
import type { Metrics } from './metrics.ts'

/** Adds the metrics of this process to those of a part of it. */
export function watchProcess(metrics: Metrics): void {
  const startedAt = performance.timeOrigin / 1_000
  let before = performance.eventLoopUtilization()
  metrics.onScrape((show) => {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed, heapTotal } = process.memoryUsage()
    const now = performance.eventLoopUtilization()
    show('process_start_time_seconds', startedAt)
    show('process_cpu_seconds_total', (user + system) / 1_000_000)
    show('process_resident_memory_bytes', rss)
    show('nodejs_heap_size_used_bytes', heapUsed)
    show('nodejs_heap_size_total_bytes', heapTotal)
    show('nodejs_eventloop_utilization', performance.eventLoopUtilization(now, before).utilization)
    before = now
    const open = openFiles()
    if (open !== null) show('process_open_fds', open)
  })
}

function openFiles(): number | null {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return null // Only Linux tells.
  }
}
