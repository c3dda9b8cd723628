// Where processes that tests start keep compiled code. Without it each of them compiles Beaver anew, which is most of what a short command does.
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** For the environment of a process. */
export const compileCache = { NODE_COMPILE_CACHE: join(tmpdir(), 'beaver-test-compile-cache') }
