// Makes src from openapi.json. All of src is made: nothing in it is written by hand.
export default {
  input: "./openapi.json",
  output: { path: "src", clean: true, module: { extension: ".js" } },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
};
