import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vite";

// The built files are committed, and a test compares them with a new build. So their content
// must not depend on the time or place of the build.
export default defineConfig({
  root: "app",
  plugins: [tailwindcss()],
  esbuild: { jsx: "automatic", legalComments: "none" },
  build: {
    outDir: process.env.PERDURE_WEB_OUT ?? "../dist",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    assetsInlineLimit: 0, // the page's policy allows data: only for images of a conversation
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      // Libraries mark modules with "use client" for server-side rendering, which is not used
      // here.
      onwarn: (warning, warn) => {
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") warn(warning);
      },
      output: {
        hashCharacters: "hex",
        manualChunks: (id) => (/node_modules\/(react|react-dom|scheduler)\//.test(id) ? "react" : undefined),
      },
    },
  },
});
