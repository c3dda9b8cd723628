// Where processes that tests start keep compiled code. Without it each of them compiles Beaver anew, which is
// most of what a short command does.
import { fileURLToPath } from 'node:url'

/** For the environment of a process. */
export const compileCache = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../.beaver/cache/tests-compiled', import.meta.url)),
}
