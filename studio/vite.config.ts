import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Addresses are relative, so that the page can be served from anywhere; nothing is loaded from elsewhere.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: { outDir: "../src/arterial/studio/page", emptyOutDir: true, target: "es2022", modulePreload: { polyfill: false } },
  worker: { format: "es" },
  test: { include: ["src/**/*.test.ts"] },
});
