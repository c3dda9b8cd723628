export { type Config, type ConfigFile, type EndpointConfig, type ConfigFlags, loadConfig } from './config.ts'
export { HomeInUse, isAlive, lockHome, startOf } from './home-lock.ts'
export { readSystemFile, removeSystemFile, type SystemFile, writeSystemFile } from './system-file.ts'
